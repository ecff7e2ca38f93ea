// Draws molecules with OpenChemLib. In, a line of JSON: mol or smiles, width, height, options, and weight unless it is
// OpenChemLib's default. Out, a line of JSON: svg and mol.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const OCL = createRequire(process.cwd() + '/')('openchemlib');
for await (const line of createInterface({ input: process.stdin })) {
  const { mol, smiles, width, height, options, weight } = JSON.parse(line);
  const molecule = mol ? OCL.Molecule.fromMolfile(mol) : OCL.Molecule.fromSmiles(smiles);
  const svg = molecule.toSVG(width, height, undefined, weight ? { ...options, strokeWidth: weight } : options);
  process.stdout.write(JSON.stringify({ svg, mol: molecule.toMolfile() }) + '\n');
}

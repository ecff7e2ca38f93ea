// Draws molecules by OpenChemLib: a line of JSON in (mol, width, height, weight), a line of JSON out (svg).
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const OCL = createRequire(process.cwd() + '/')('openchemlib');
const options = { suppressChiralText: true, suppressESR: true, suppressCIPParity: true, noStereoProblem: true };
for await (const line of createInterface({ input: process.stdin })) {
  const { mol, width, height, weight } = JSON.parse(line);
  const molecule = OCL.Molecule.fromMolfile(mol);
  process.stdout.write(JSON.stringify({ svg: molecule.toSVG(width, height, undefined, { ...options, strokeWidth: weight }) }) + '\n');
}

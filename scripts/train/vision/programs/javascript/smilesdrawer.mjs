// Draws molecules with SmilesDrawer. In, a line of JSON: smiles, options, theme. Out, a line of JSON:
//   svg
//   atoms    index in the SMILES or null, element, hydrogens, charge, isotope, x and y in units of the svg, drawn, holds
//            (whether its label includes neighbours that are not drawn)
//   bonds    the two atoms, wedge (up, down or nothing), narrow (the atom at the narrow end of the wedge)
//   circles  the atoms of each ring with a circle
//   dashed   whether an aromatic ring is drawn otherwise
//   error    if nothing was drawn
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(process.cwd() + '/');
const { JSDOM, VirtualConsole } = require('jsdom');
const { window } = new JSDOM('', { virtualConsole: new VirtualConsole() });
Object.assign(globalThis, { window, document: window.document, SVGSVGElement: window.SVGSVGElement });
require('smiles-drawer');
const { Parser, SvgDrawer } = window.SmilesDrawer;

function shown(base) {
  const { graph, rings } = base;
  const index = new Map(graph.atomIdxToVertexId.map((vertex, atom) => [vertex, atom]));
  const atoms = graph.vertices.map(({ id, value, position }) => ({
    index: index.get(id) ?? null, element: value.element, hydrogens: value.countImplicitHydrogens(), charge: value.bracket?.charge || 0,
    isotope: value.bracket?.isotope || 0, x: position.x, y: position.y, drawn: value.isDrawn, holds: Boolean(value.hasAttachedPseudoElements),
  }));
  const bonds = graph.edges.filter(({ bondType }) => bondType !== '.').map(({ sourceId, targetId, wedge }) => {
    const [source, target] = [graph.vertices[sourceId], graph.vertices[targetId]];
    // As in SvgWrapper.drawWedge: from the left end, or from the right end if that is a stereocentre.
    const [left, right] = source.position.x < target.position.x ? [source, target] : [target, source];
    return { atoms: [sourceId, targetId], narrow: (right.value.isStereoCenter ? right : left).id, wedge };
  });
  const aromatic = rings.filter((ring) => base.isRingAromatic(ring));
  const circled = aromatic.filter((ring) => !ring.isPartOfBridged || base.isRingRegularPolygon(ring));
  return { atoms, bonds, circles: circled.map((ring) => ring.members), dashed: circled.length < aromatic.length };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { smiles, options, theme } = JSON.parse(line);
  let answer;
  try {
    const drawer = new SvgDrawer(options);
    const svg = drawer.draw(Parser.parse(smiles), null, theme);
    answer = { svg: svg.outerHTML, ...shown(drawer.preprocessor) };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}

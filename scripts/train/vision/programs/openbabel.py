"""Open Babel."""

from __future__ import annotations

from random import Random

from scripts.train.vision.programs.picture import FAMILIES, Draw, DrawPlain, Layout, Picture, rasterise


def styled() -> Draw:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)

    def draw(text: str, random: Random) -> Picture:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInAndOutFormats("mol", "svg")
        conversion.ReadString(molecule, text)
        for option, part in (("u", 0.5), ("t", 0.25), ("C", 0.5), ("s", 0.3)):
            if random.random() < part:
                conversion.AddOption(option, conversion.OUTOPTIONS)
        conversion.AddOption("d", conversion.OUTOPTIONS)  # No title below the drawing.
        conversion.AddOption("A", conversion.OUTOPTIONS)
        if random.random() < 0.04:
            conversion.AddOption("i", conversion.OUTOPTIONS)
        size = random.choice([200, 250, 300, 300, 400, 500])
        conversion.AddOption("P", conversion.OUTOPTIONS, str(size))
        width = random.choice([size, size, 400, 500])
        return Picture(rasterise(conversion.WriteString(molecule), random.choice(FAMILIES), width))

    return draw


def plain() -> DrawPlain:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)
    operation = ob.OBOp.FindType("gen2D")

    def draw(smiles: str) -> tuple[bytes, str] | None:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInAndOutFormats("smi", "svg")
        conversion.ReadString(molecule, smiles)
        operation.Do(molecule)
        if not molecule.Has2D():  # A single atom.
            return None
        svg = conversion.WriteString(molecule)
        conversion.SetOutFormat("mol")
        return rasterise(svg), conversion.WriteString(molecule)

    return draw


def layout() -> Layout:
    from openbabel import openbabel as ob

    ob.obErrorLog.SetOutputLevel(0)
    operation = ob.OBOp.FindType("gen2D")

    def place(text: str) -> list[tuple[float, float]]:
        conversion, molecule = ob.OBConversion(), ob.OBMol()
        conversion.SetInFormat("mol")
        conversion.ReadString(molecule, text)
        operation.Do(molecule)
        return [(atom.x(), atom.y()) for atom in ob.OBMolAtomIter(molecule)]

    return place

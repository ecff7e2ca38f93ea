"""Indigo."""

from __future__ import annotations

from random import Random

from scripts.train.vision.programs.picture import Draw, DrawPlain, Layout, Picture


def styled(numbered: float = 0.1) -> Draw:
    """numbered: share of the drawings with atom numbers, which stand in place of carbons."""
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
            circled = [
                (b.source().index(), b.destination().index()) for b in molecule.iterateBonds() if b.bondOrder() == 4
            ]
        return Picture(bytes(renderer.renderToBuffer(molecule)), circled, numbers)

    return draw


def plain() -> DrawPlain:
    from indigo import Indigo, IndigoException
    from indigo.renderer import IndigoRenderer

    session = Indigo()
    renderer = IndigoRenderer(session)
    session.setOption("render-output-format", "png")
    session.setOption("ignore-stereochemistry-errors", True)  # A layout may have two atoms at one place.

    def draw(smiles: str) -> tuple[bytes, str] | None:
        try:
            molecule = session.loadMolecule(smiles)
        except IndigoException:  # An element that it does not allow in an aromatic ring.
            return None
        molecule.layout()
        return bytes(renderer.renderToBuffer(molecule)), molecule.molfile()

    return draw


def layout() -> Layout:
    from indigo import Indigo

    session = Indigo()
    session.setOption("ignore-stereochemistry-errors", True)

    def place(text: str) -> list[tuple[float, float]]:
        molecule = session.loadMolecule(text)
        molecule.layout()
        return [(x, y) for x, y, _ in (atom.xyz() for atom in molecule.iterateAtoms())]

    return place

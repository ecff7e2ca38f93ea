"""What was read from a picture, and the thresholds at which an answer trusts it."""

from __future__ import annotations

from dataclasses import dataclass

from rdkit import Chem

from . import markush, placeholders
from .molfile import molfile_of

SURE_CONFIDENCE = 0.8
"""Below this confidence an answer says that it is unsure."""
MIN_CONFIDENCE = 0.05
"""Below this confidence a reading has no molecule: the detected atoms and bonds do not fit together."""
MIN_DRAWING_PROBABILITY = 0.9
"""Below this probability a picture is not a drawing of a molecule. In a text or a chart, one of several scales often
shows a line or a letter that could be a molecule. Of 3,155 tuning drawings, one that was read correctly was below 0.95
(CDK's, 0.905)."""


@dataclass
class Reading:
    """What a picture shows."""

    smiles: str | None
    """Canonical isomeric SMILES, or CXSMILES (placeholders.smiles_of); None if no molecule could be built."""
    molecule: Chem.Mol | None
    """The molecule. That of a DrawingReader has the conformer of the drawing (x to the right, y up, in pixels of the
    picture)."""
    confidence: float
    """Probability that smiles is exact, 0 to 1."""
    drawing_probability: float
    """Probability that the picture is a drawing of a molecule at all, 0 to 1."""
    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    has_unknown_label: bool = False
    """Whether the drawing has letters that the reader does not know; smiles is then None."""
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Left, top, right and bottom of the drawing in pixels of the picture, right and bottom exclusive."""
    drawings: int = 1
    """The drawings of the picture that were read."""
    more_drawings: bool = False
    """Whether the picture has more."""
    drawn: Chem.Mol | None = None
    """The molecule with the conformer of the drawing, if `molecule` has none."""

    def molfile(self) -> str:
        """Returns the mol file of the molecule, with the coordinates of the drawing."""
        return molfile_of(self.drawn or self.molecule)

    def placeholders(self) -> list[str]:
        """Returns the names of the placeholders and repeat counts of the molecule."""
        return placeholders.names(self.molecule) if self.molecule is not None else []

    def is_definite(self) -> bool:
        """Reports whether the drawing shows one molecule, see placeholders.is_definite."""
        return self.molecule is not None and placeholders.is_definite(self.molecule)

    def is_drawing(self) -> bool:
        return self.drawing_probability >= MIN_DRAWING_PROBABILITY

    def has_molecule(self) -> bool:
        return self.molecule is not None and self.confidence >= MIN_CONFIDENCE

    def is_readable(self) -> bool:
        """Reports whether a molecule was read from a drawing."""
        return self.is_drawing() and self.has_molecule()

    def charge(self) -> int:
        """Returns the net charge of the molecule, 0 without one."""
        return Chem.GetFormalCharge(self.molecule) if self.molecule and self.has_molecule() else 0

    def is_connected(self) -> bool:
        """Reports whether the molecule is in one piece."""
        return self.molecule is not None and markush.pieces(self.molecule) == 1

    def heavy_atoms(self) -> int:
        return placeholders.heavy_atoms(self.molecule) if self.molecule else 0

    def is_unsure(self) -> bool:
        return self.confidence < SURE_CONFIDENCE

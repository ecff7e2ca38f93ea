"""The result of reading a picture, and what its probabilities mean for an answer."""

from __future__ import annotations

from dataclasses import dataclass

from rdkit import Chem

UNSURE = 0.8
"""An answer about a reading with less confidence says that it is unsure."""
UNREADABLE = 0.05
"""A reading with less confidence counts as none: the detected atoms and bonds make no molecule."""
IS_DRAWING = 0.9
"""A picture with a lower probability counts as no drawing of a molecule. In a text or a chart, one of several scales
often shows a line or a letter that could be a molecule. Of 3,155 tuning drawings, one that was read correctly was below
0.95 (CDK's, 0.905)."""


@dataclass
class Reading:
    """What a picture shows."""

    smiles: str | None
    """Canonical isomeric SMILES, None if no molecule could be built."""
    molecule: Chem.Mol | None
    """The molecule with the conformer of the drawing (x to the right, y up, in pixels of the picture)."""
    confidence: float
    """Probability that smiles is exact, 0 to 1."""
    drawing: float
    """Probability that the picture is a drawing of a molecule at all, 0 to 1."""
    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    unknown: bool = False
    """Whether the drawing has letters that the reader does not know; smiles is then None."""

    def is_drawing(self) -> bool:
        return self.drawing >= IS_DRAWING

    def has_molecule(self) -> bool:
        return self.molecule is not None and self.confidence >= UNREADABLE

    def is_readable(self) -> bool:
        """Reports whether a molecule was read from a drawing."""
        return self.is_drawing() and self.has_molecule()

    def is_unsure(self) -> bool:
        return self.confidence < UNSURE

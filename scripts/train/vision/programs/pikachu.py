"""PIKAChU, a toolkit in Python that draws with matplotlib, with coordinates of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts.train.vision.programs.picture import Plain


def plain() -> Plain:
    import matplotlib
    from pikachu.general import png_from_smiles

    matplotlib.use("Agg")

    def draw(smiles: str) -> tuple[bytes, str | None] | None:
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "drawn.png"
            try:
                png_from_smiles(smiles, str(png))
            except Exception:  # noqa: BLE001  (assertions and errors of many kinds, for one molecule in sixty)
                return None
            finally:
                matplotlib.pyplot.close("all")
            return (
                png.read_bytes(),
                None,
            )  # Its mol files have aromatic bonds without the hydrogens that RDKit needs to read them.

    return draw

"""PIKAChU, a Python toolkit that draws with matplotlib and its own coordinates."""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts.train.vision.programs.picture import DrawPlain


def plain() -> DrawPlain:
    import matplotlib
    from pikachu.general import png_from_smiles

    matplotlib.use("Agg")

    def draw(smiles: str) -> tuple[bytes, str | None] | None:
        with tempfile.TemporaryDirectory() as folder:
            png = Path(folder) / "drawn.png"
            try:
                png_from_smiles(smiles, str(png))
            except Exception:  # noqa: BLE001  (assertions and many other errors, for one molecule in sixty)
                return None
            finally:
                matplotlib.pyplot.close("all")
            # Without a mol file: its aromatic bonds lack the hydrogens that RDKit needs to read them.
            return png.read_bytes(), None

    return draw

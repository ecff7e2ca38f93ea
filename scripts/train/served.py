"""The served molecule reader: the folder of its version. Its code is the package scripts.served_reader, a link to the
entry's.
"""

from __future__ import annotations

from pathlib import Path

ENTRY = Path(__file__).resolve().parents[2] / "model_repository" / "molecule_reader"
VERSION = ENTRY / "1"

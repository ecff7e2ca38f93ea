"""Makes the served reader's modules (ink, cells, graph, reader) importable: training sees pictures through the same code."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "model_repository" / "molecule_reader" / "1"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))

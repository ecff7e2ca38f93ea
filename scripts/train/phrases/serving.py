"""The part of the model repository's entry that reads texts: words and features must be the same in training and serving."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

ENTRY = Path(__file__).resolve().parents[3] / "model_repository" / "molecule_reader" / "1"

_spec = importlib.util.spec_from_file_location("phrases", ENTRY / "phrases.py")
_module = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("phrases", _module)  # dataclasses look their module up
_spec.loader.exec_module(_module)

WORD, BUCKETS, WIDTH, MOST_WORDS = _module.WORD, _module.BUCKETS, _module.WIDTH, _module.MOST_WORDS
Phrases, rows, words, decode = _module.Phrases, _module.rows, _module.words, _module.decode

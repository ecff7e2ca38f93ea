"""Reads pictures with the served molecule reader: a picture in base64 a line in, a line of JSON out.

    python -m scripts.tests.pythons.read

Triton's Python runs it, which has ONNX Runtime. test_reader.py.
"""

from __future__ import annotations

import base64
import io
import json
import sys

from PIL import Image

from scripts.served_reader.drawing_reader import DrawingReader
from scripts.train.served import VERSION

reader = DrawingReader(VERSION)
for line in sys.stdin:
    reading = reader.read(Image.open(io.BytesIO(base64.b64decode(line))))
    answer = {
        "smiles": reading.smiles,
        "drawing": reading.drawing_probability,
        "unsure": reading.is_unsure(),
        "size": reading.size,
    }
    print(json.dumps(answer), flush=True)

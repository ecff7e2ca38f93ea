"""Reads pictures with the served molecule reader: lines of base64 in, lines of JSON out.

    python -m scripts.tests.pythons.read

test_reader.py runs it with Triton's Python, which has ONNX Runtime.
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
    image = Image.open(io.BytesIO(base64.b64decode(line)))
    reading = reader.read(image)
    answer = {
        "smiles": reading.smiles,
        "drawing": reading.drawing_probability,
        "unsure": reading.is_unsure(),
        "size": reading.size,
        "page": [[each.smiles, each.box, each.is_readable()] for each in reader.read_page(image)],
    }
    print(json.dumps(answer), flush=True)

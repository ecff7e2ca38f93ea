"""From wishes to sentences. What a drawing shows comes from the reader; everything said of it is computed here from the molecule.

An answer is a list of parts (str, or pieces.Smiles). Where several phrasings will do, `choose` picks one; the first is the usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import references

import compare
import facts
import groups
from conversation import COMPARING, PAIR, Wish, Wishes
from phrases import Asked
from pieces import Smiles
from wording import capital, listed, lower, number, plural

UNSURE = 0.8
"""A reading with less confidence is said to be unsure."""
UNREAD_BELOW = 0.05
"""A reading with less is taken for none: what was seen does not make a molecule."""
DRAWING = 0.9
"""A picture less likely to be a drawing of a molecule is said to be none: of several looks at a text or a chart one finds a line or a letter
that could be a molecule, while of 3,155 drawings for tuning one that was read rightly had less than 0.95 (CDK's, 0.905)."""
UNDERSTOOD = 0.3
"""A question whose family is less likely is not answered."""

Parts = list[str]
Choose = Callable[[Sequence[str]], str]

ABLE = (
    "I read drawings of single molecules. I can give the SMILES, InChI and molecular formula, the mass, charge and logP, count atoms, bonds, "
    "rings, stereocentres and functional groups, say whether an element or group is there, and compare two drawings, "
    "or one with a SMILES or a common name that you write."
)
BEYOND = "That is beyond me. "
PICTURE = "Send me a drawing of a molecule as a picture, please."
NOTHING = "This picture does not look like a drawing of a molecule, so I cannot answer that."
UNREAD = "I see a drawing of a molecule, but I could not read it."
STRANGE = "I see a drawing of a molecule with letters that I do not know, such as R, a metal or an abbreviation, so I could not read it."
NOT_UNDERSTOOD = "I did not understand the question. " + ABLE
NO_DRAWING = "I need a drawing for that. " + PICTURE
REFUSALS = (NOTHING, UNREAD, STRANGE, NOT_UNDERSTOOD, NO_DRAWING)
"""Said once, however many questions they answer."""

TALK: dict[str, list[str]] = {
    "greeting": [
        "Hello! Send me a drawing of a molecule and ask me about it.",
        "Hi! Show me a drawing of a molecule and ask away.",
    ],
    "thanks": ["You are welcome.", "Glad to help."],
    "help": [ABLE],
    "beyond": [BEYOND + ABLE],
}


class Answers:
    """Answers the wishes of one turn. `read` gives the reading of a drawing by its number."""

    def __init__(self, wishes: Wishes, read: Callable[[int], object], choose: Choose) -> None:
        self.wishes, self.read, self.choose = wishes, read, choose
        self.warned: set[int] = set()

    def parts(self) -> Parts:
        """The whole answer."""
        out: Parts = []
        for wish in self.wishes.wishes:
            sentences = self.one(wish)
            if sentences and sentences[0] in REFUSALS and sentences[0] in out:
                continue
            if out and sentences:
                out.append(" ")
            out += sentences
        return out

    def one(self, wish: Wish) -> Parts:
        family = wish.asked.family
        if wish.asked.sure < UNDERSTOOD:
            return [NOT_UNDERSTOOD]
        if family in TALK:
            if family == "beyond" and not self.wishes.shown:
                return [BEYOND + ABLE + " " + PICTURE]
            return [self.choose(TALK[family])]
        if family == "drawings":
            shown = self.wishes.shown
            return [str(shown) if self.wishes.brief else f"You have shown me {number(shown, 'picture', 'pictures')}."]
        if wish.missing:
            return [
                f"There is no {wish.missing} drawing: you have shown me {number(self.wishes.shown, 'picture', 'pictures')}."
            ]
        if not wish.drawings:
            return [NO_DRAWING]
        if wish.asked.references:
            told = [
                self.against(wish, drawing, reference)
                for drawing in wish.drawings
                for reference in wish.asked.references
            ]
            return [part for i, parts in enumerate(told) for part in ([" "] if i else []) + parts]
        if family in PAIR or COMPARING & set(wish.asked.modes):
            return self.pair(wish)
        out: Parts = []
        for drawing in wish.drawings:
            out += ([" "] if out else []) + self.about(wish, drawing)
        return out

    def about(self, wish: Wish, drawing: int) -> Parts:
        """One question about one drawing."""
        reading, family = self.read(drawing), wish.asked.family
        several = len(wish.drawings) > 1
        where = f"{capital(self.wishes.names[drawing])}: " if several else ""
        if family == "size":
            return [f"{where}{reading.size[0]} × {reading.size[1]} pixels."]
        is_drawing = reading.drawing >= DRAWING
        if family == "is_molecule":
            yes = (
                "Yes, it shows a drawing of a molecule."
                if is_drawing
                else "No, it does not look like a drawing of a molecule."
            )
            return [where + (yes.partition(",")[0] if self.wishes.brief else yes)]
        if not is_drawing:
            return [where + NOTHING]
        if unread(reading):
            return [where + (STRANGE if reading.unknown else UNREAD)]
        told = self.told(wish.asked, reading)
        if several and not isinstance(told[0], Smiles):
            told[0] = lower(told[0])
        return [where, *(self.warning(drawing, reading) if family != "sure" else []), *told]

    def warning(self, drawing: int, reading) -> Parts:
        """Said once of a drawing whose reading is unsure."""
        if reading.confidence >= UNSURE or self.wishes.brief or drawing in self.warned:
            return []
        self.warned.add(drawing)
        return [f"I am not sure that I read this drawing right (about {reading.confidence:.0%}). "]

    def told(self, asked: Asked, reading) -> Parts:
        """The answer from the molecule."""
        molecule, family, brief = reading.molecule, asked.family, self.wishes.brief
        if family in facts.COUNTS:
            count, one, many = facts.COUNTS[family]
            return [self.count(asked, count(molecule), one, many)]
        if family in facts.MEASURES:
            return [self.measure(asked, molecule)]
        if family in ("count_element", "has_element", "count_group", "has_group"):
            return [self.contained(asked, molecule)]
        return {
            "smiles": self.smiles,
            "name": self.name,
            "inchi": self.inchi,
            "formula": self.formula,
            "elements": self.elements,
            "groups": self.groups,
            "describe": self.describe,
            "sure": self.sure,
            "has_ring": self.property,
            "is_aromatic": self.property,
            "is_charged": self.property,
            "is_chiral": self.property,
        }[family](asked, reading, brief)

    def count(self, asked: Asked, n: int, one: str, many: str) -> str:
        bound = next((m for m in asked.modes if m in BOUNDS), None)
        has = f"it has {number(n, one, many)}"
        if bound and asked.number is not None:
            return self.yes_no(BOUNDS[bound](n, asked.number), has)
        if self.wishes.brief:
            return str(n)
        verb = "is" if n == 1 else "are"
        return self.choose(
            [
                f"It has {number(n, one, many)}.",
                f"There {verb} {number(n, one, many)}.",
                f"I count {number(n, one, many)}.",
            ]
        )

    def measure(self, asked: Asked, molecule) -> str:
        compute, name, _ = facts.MEASURES[asked.family]
        value = compute(molecule)
        text = facts.written(asked.family, value)
        bound = next((m for m in asked.modes if m in BOUNDS), None)
        if bound and asked.number is not None:
            return self.yes_no(BOUNDS[bound](value, asked.number), f"its {name} is {text}")
        return text if self.wishes.brief else self.choose([f"Its {name} is {text}.", f"The {name} is {text}."])

    def contained(self, asked: Asked, molecule) -> str:
        """How many of what is named, or whether any."""
        symbols = facts.elements(molecule)
        found = [(symbols[e], f"{facts.NAMES[e]} atom", f"{facts.NAMES[e]} atoms") for e in asked.elements]
        found += [(groups.count(molecule, g), groups.shown(g), plural(groups.shown(g))) for g in asked.groups]
        if not found:
            return "I did not understand which element or group you mean."
        if asked.family.startswith("count"):
            if len(found) == 1:
                return self.count(asked, *found[0])
            if self.wishes.brief:
                return ", ".join(str(n) for n, *_ in found)
            return f"It has {listed([number(n, one, many) for n, one, many in found])}."
        if len(found) == 1:
            n, one, many = found[0]
            yes = n == 0 if "absent" in asked.modes else n > 0
            return self.yes_no(yes, f"it has {number(n, one, many)}")
        return f"It has {listed([number(n, one, many) for n, one, many in found])}."

    def yes_no(self, yes: bool, because: str) -> str:
        word = "Yes" if yes else "No"
        return word if self.wishes.brief else self.choose([f"{word}, {because}.", f"{word}: {because}."])

    def property(self, asked: Asked, reading, brief: bool) -> Parts:
        """Yes or no by a number."""
        molecule = reading.molecule
        if asked.family == "is_charged":
            charge = facts.MEASURES["charge"][0](molecule)
            n, because = charge, f"its net charge is {facts.written('charge', charge)}"
        else:
            source = {"has_ring": "count_rings", "is_aromatic": "count_aromatic", "is_chiral": "count_stereo"}[
                asked.family
            ]
            count, one, many = facts.COUNTS[source]
            n = count(molecule)
            because = f"it has {number(n, one, many)}"
        return [self.yes_no((n == 0) == ("absent" in asked.modes), because)]

    def smiles(self, asked: Asked, reading, brief: bool) -> Parts:
        text = Smiles(reading.smiles)
        return [text] if brief else [self.choose(["The SMILES is ", "I read it as ", "This is "]), text, "."]

    def name(self, asked: Asked, reading, brief: bool) -> Parts:
        name, exact = references.called(reading.molecule)
        if not name:
            return [
                "I know the names of a few hundred common molecules only, and this is none of them. Its SMILES is ",
                Smiles(reading.smiles),
                ".",
            ]
        if brief:
            return [name]
        return [
            f"It is known as {name}: " if exact else f"But for its stereochemistry it is {name}: ",
            Smiles(reading.smiles),
            ".",
        ]

    def inchi(self, asked: Asked, reading, brief: bool) -> Parts:
        text, key = facts.inchi(reading.molecule)
        return [Smiles(text)] if brief else ["Its InChI is ", Smiles(text), f" and its InChIKey {key}."]

    def formula(self, asked: Asked, reading, brief: bool) -> Parts:
        text = facts.formula(reading.molecule)
        return [text if brief else self.choose([f"Its molecular formula is {text}.", f"The formula is {text}."])]

    def elements(self, asked: Asked, reading, brief: bool) -> Parts:
        found = facts.elements(reading.molecule)
        return [", ".join(found) if brief else f"It consists of {listed([facts.NAMES.get(s, s) for s in found])}."]

    def groups(self, asked: Asked, reading, brief: bool) -> Parts:
        found = groups.listed(reading.molecule)
        if not found:
            return ["none" if brief else "I find none of the functional groups that I know."]
        if brief:
            return [", ".join(name for name, _ in found)]
        counts = [number(n, groups.shown(name), plural(groups.shown(name))) for name, n in found]
        return [f"It has {listed(counts)}."]

    def describe(self, asked: Asked, reading, brief: bool) -> Parts:
        molecule = reading.molecule
        rings = facts.COUNTS["count_rings"][0](molecule)
        aromatic = facts.COUNTS["count_aromatic"][0](molecule)
        ring = f"It has {number(rings, 'ring', 'rings')}" + (
            f", of which {number(aromatic, 'is', 'are')} aromatic. " if rings else ". "
        )
        return [
            "It is ",
            Smiles(reading.smiles),
            f", {facts.formula(molecule)}, {facts.MEASURES['mass'][0](molecule):.2f} g/mol. ",
            ring.replace("no are", "none is"),
            *self.groups(asked, reading, False),
        ]

    def sure(self, asked: Asked, reading, brief: bool) -> Parts:
        if brief:
            return [f"{reading.confidence:.0%}"]
        sure = "I am quite sure" if reading.confidence >= UNSURE else "I am not sure"
        return [f"{sure}: the chance that I read the drawing exactly is about {reading.confidence:.0%}."]

    def against(self, wish: Wish, drawing: int, reference) -> Parts:
        """A comparison of a drawing with a molecule that the question names."""
        reading, name = self.read(drawing), self.wishes.names[drawing] if len(wish.drawings) > 1 else "the drawing"
        if not is_read(reading):
            return [
                f"I cannot compare them: {name} "
                + (
                    "could not be read."
                    if reading.drawing >= DRAWING
                    else "does not look like a drawing of a molecule."
                )
            ]
        told = compare.with_named if wish.asked.family == "same" else compare.told
        return [
            *self.warning(drawing, reading),
            *told(wish.asked, (name, reference.said), (reading, reference), self.wishes.brief),
        ]

    def pair(self, wish: Wish) -> Parts:
        """A comparison of the first two drawings of a wish."""
        if len(wish.drawings) < 2:
            return ["I need two drawings to compare. " + PICTURE]
        a, b = wish.drawings[:2]
        names, readings = [self.wishes.names[n] for n in (a, b)], [self.read(n) for n in (a, b)]
        for name, reading in zip(names, readings):
            if reading.drawing < DRAWING or unread(reading):
                why = (
                    "could not be read."
                    if reading.drawing >= DRAWING
                    else "does not look like a drawing of a molecule."
                )
                return [f"I cannot compare them: {name} {why}"]
        unsure = [n for n, r in zip(names, readings) if r.confidence < UNSURE]
        warning = [f"I am not sure that I read {listed(unsure)} right. "] if unsure and not self.wishes.brief else []
        return warning + compare.told(wish.asked, names, readings, self.wishes.brief)


def is_read(reading) -> bool:
    """Whether a molecule was read from a drawing."""
    return reading.drawing >= DRAWING and not unread(reading)


def unread(reading) -> bool:
    return reading.molecule is None or reading.confidence < UNREAD_BELOW


BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "more_than": lambda n, k: n > k,
    "less_than": lambda n, k: n < k,
    "at_least": lambda n, k: n >= k,
    "at_most": lambda n, k: n <= k,
    "exactly": lambda n, k: n == k,
}

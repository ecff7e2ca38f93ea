"""Writes the answers to questions in sentences, computed from the molecules that were read.

`choose` picks one of several phrasings, the first of which is the usual one. A brief answer is the bare value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rdkit import Chem

from . import comparison, functional_groups, markush, placeholders, properties
from .comparison import NAME_TWO
from .conversation import Question, TurnPlan
from .functional_groups import display_name
from .intents import COMPARING, PAIR, Intent, NamedMolecule
from .named_molecules import common_name
from .placeholders import ATTACHMENT_POINT_NAME
from .properties import COUNTS, ELEMENTS, MEASURES, element_counts, format_measure, is_determined
from .reading import Reading
from .wording import Molfile, Parts, Smiles, counted, join_and, lower_first, plural, tokens, upper_first

MIN_PROBABILITY = 0.3
"""The least probability of a family at which the question is answered."""

Choose = Callable[[Sequence[str]], str]

ABILITIES = (
    "I read printed drawings of molecules. A picture may have several. I can give the SMILES, InChI, mol file and "
    "molecular formula, the mass, charge and logP, count atoms, bonds, rings, stereocentres and functional groups, "
    "say whether an element or group is there, and compare two drawings, or one with a SMILES or a common name that "
    "you write."
)
BEYOND = "That is beyond me. " + ABILITIES
SEND_PICTURE = "Send me a drawing of a molecule as a picture, please."
NO_MOLECULE = "This picture does not look like a drawing of a molecule, so I cannot answer that."
NOT_READ = "I see a drawing of a molecule, but I could not read it."
UNKNOWN_LETTERS = (
    "I see a drawing of a molecule with letters that I do not know, such as a metal or an abbreviation, "
    "so I could not read it."
)
NOT_UNDERSTOOD = "I did not understand the question. " + ABILITIES
NEEDS_DRAWING = "I need a drawing for that. " + SEND_PICTURE
TOO_LONG = (
    "The mol file is too long: with it, this answer has {:,} tokens of at most {:,}. Raise max_tokens, start a new "
    "conversation, or ask for one mol file at a time."
)
MORE_DRAWINGS = "I read the {} largest drawings of this picture; it has more. "
REFUSALS = (NO_MOLECULE, NOT_READ, UNKNOWN_LETTERS, NOT_UNDERSTOOD, NEEDS_DRAWING)
"""Sentences that are given once in an answer, even if they answer several questions."""

SMALL_TALK = {
    "greeting": [
        "Hello! Send me a drawing of a molecule and ask me about it.",
        "Hi! Show me a drawing of a molecule and ask away.",
    ],
    "thanks": ["You are welcome.", "Glad to help."],
    "help": [ABILITIES],
    "beyond": [BEYOND],
}
"""Phrasings by family."""

ABOUT_PICTURES = {"size", "is_molecule"}
"""Families of questions about a picture, whatever the number of its drawings."""

COUNT_OF_PROPERTY = {"has_ring": "count_rings", "is_aromatic": "count_aromatic", "is_chiral": "count_stereo"}
"""By family of a yes-or-no question: the count that is not 0 if the answer is yes."""


class AnswerWriter:
    """Answers the questions of one turn. `read` returns the reading of a drawing by its number."""

    def __init__(self, plan: TurnPlan, read: Callable[[int], Reading], choose: Choose) -> None:
        self.plan = plan
        self.read = read
        self.choose = choose
        self.warned: set[int] = set()
        """The drawings with a warning in the answer."""
        self.cut: set[int] = set()
        """The pictures of which the answer says that they have more drawings."""
        self.placed: set[int] = set()
        """The drawings whose place on their page is in the answer."""
        self.used: dict[int, Reading] = {}
        """By drawing: the readings on whose molecules the answer depends."""

    def parts(self) -> Parts:
        """Returns the whole answer."""
        out: Parts = []
        for question in self.plan.questions:
            sentences = self.answer(question)
            if sentences and sentences[0] in REFUSALS and sentences[0] in out:
                continue
            out += [*separator(out, sentences), *sentences]
        return out

    def answer(self, question: Question) -> Parts:
        """Returns the answer to one question."""
        intent = question.intent
        if intent.probability < MIN_PROBABILITY:
            return [NOT_UNDERSTOOD]
        if intent.family in SMALL_TALK:
            if intent.family == "beyond" and not self.plan.pictures:
                return [BEYOND + " " + SEND_PICTURE]
            return [self.choose(SMALL_TALK[intent.family])]
        if intent.family == "drawings":
            return [str(len(self.plan.pictures)) if self.plan.brief else f"You have shown me {self.shown()}."]
        if question.missing:
            return [f"There is no {question.missing} drawing: you have shown me {self.shown()}."]
        if not question.drawings:
            return [NEEDS_DRAWING]
        if intent.molecules:
            return join_with_spaces(
                [
                    self.compare_with_named(question, drawing, named)
                    for drawing in question.drawings
                    for named in intent.molecules
                ]
            )
        if intent.family in PAIR or COMPARING & set(intent.modes):
            return self.compare_drawings(question)
        if intent.family in ABOUT_PICTURES:
            firsts = {self.plan.pictures[drawing]: drawing for drawing in reversed(question.drawings)}
            question = replace(question, drawings=sorted(firsts.values()))
        return join_with_spaces([self.answer_about(question, drawing) for drawing in question.drawings])

    def shown(self) -> str:
        """Returns how many pictures there are in the conversation, and drawings if they are more."""
        numbers = set(self.plan.pictures.values())
        pictures = counted(len(numbers), "picture", "pictures")
        if len(self.plan.pictures) == len(numbers):
            return pictures
        return f"{pictures} with {len(self.plan.pictures)} drawings"

    def prefix(self, drawing: int, reading: Reading) -> str:
        """Returns the name of a drawing, with its place on a page once in the answer."""
        name = upper_first(self.plan.names[drawing])
        if reading.drawings == 1 or drawing in self.placed:
            return f"{name}: "
        self.placed.add(drawing)
        left, top, right, bottom = reading.box
        return f"{name} (at {left}, {top} to {right}, {bottom}): "

    def answer_about(self, question: Question, drawing: int) -> Parts:
        """Answers a question about one drawing."""
        reading, intent = self.read(drawing), question.intent
        several = len(question.drawings) > 1
        prefix = self.prefix(drawing, reading) if several else ""
        if reading.more_drawings and self.plan.pictures[drawing] not in self.cut:
            self.cut.add(self.plan.pictures[drawing])
            prefix = MORE_DRAWINGS.format(reading.drawings) + prefix
        if intent.family == "size":
            return [f"{prefix}{reading.size[0]} × {reading.size[1]} pixels."]
        if intent.family == "is_molecule":
            if reading.is_drawing():
                shown = (
                    "a drawing of a molecule" if reading.drawings == 1 else f"{reading.drawings} drawings of molecules"
                )
                return [prefix + ("Yes" if self.plan.brief else f"Yes, it shows {shown}.")]
            return [prefix + ("No" if self.plan.brief else "No, it does not look like a drawing of a molecule.")]
        if not reading.is_drawing():
            return [prefix + NO_MOLECULE]
        if not reading.has_molecule():
            return [prefix + (UNKNOWN_LETTERS if reading.has_unknown_label else NOT_READ)]
        self.used[drawing] = reading
        sentences = self.answer_from(intent, reading)
        warning = self.warning(drawing, reading, sentences) if intent.family != "sure" else []
        if several and not isinstance(sentences[0], Smiles):
            sentences[0] = lower_first(sentences[0])
        if isinstance(sentences[0], Molfile):
            prefix = prefix and prefix.rstrip() + "\n"
        return [prefix, *warning, *sentences]

    def warning(self, drawing: int, reading: Reading, sentences: Parts) -> Parts:
        """Returns the warning about an unsure reading, once for each drawing. It has the SMILES that was read, to be
        compared with the drawing, unless the sentences after it have it."""
        if not reading.is_unsure() or self.plan.brief or drawing in self.warned:
            return []
        self.warned.add(drawing)
        start = f"I am not sure that I read this drawing right (about {reading.confidence:.0%}). "
        return [start] if reading.smiles in sentences else [start + "I read it as ", Smiles(reading.smiles), ". "]

    def answer_from(self, intent: Intent, reading: Reading) -> Parts:
        """Answers from the molecule that was read."""
        family = intent.family
        if not is_determined(family, reading.molecule):
            return [depends_on_undetermined([reading.molecule])]
        if family in COUNTS:
            compute, one, many = COUNTS[family]
            return [self.answer_count(intent, compute(reading.molecule), one, many)]
        if family in MEASURES:
            return [self.answer_measure(intent, reading.molecule)]
        if family in ("count_element", "has_element", "count_group", "has_group"):
            return [self.answer_contents(intent, reading.molecule)]
        if family in COUNT_OF_PROPERTY or family == "is_charged":
            return [self.answer_property(intent, reading.molecule)]
        return {
            "smiles": self.smiles,
            "name": self.name,
            "inchi": self.inchi,
            "molfile": self.molfile,
            "formula": self.formula,
            "elements": self.elements,
            "groups": self.groups,
            "describe": self.describe,
            "sure": self.confidence,
        }[family](reading)

    def answer_count(self, intent: Intent, n: int, one: str, many: str) -> str:
        """Answers how many there are, or whether the number is within a bound."""
        text = counted(n, one, many)
        in_bounds = intent.is_in_bounds(n)
        if in_bounds is not None:
            return self.yes_or_no(in_bounds, f"it has {text}")
        if self.plan.brief:
            return str(n)
        return self.choose([f"It has {text}.", f"There {'is' if n == 1 else 'are'} {text}.", f"I count {text}."])

    def answer_measure(self, intent: Intent, molecule: Chem.Mol) -> str:
        """Answers with a value, or whether it is within a bound."""
        compute, name, _ = MEASURES[intent.family]
        value = compute(molecule)
        text = format_measure(intent.family, value)
        in_bounds = intent.is_in_bounds(value)
        if in_bounds is not None:
            return self.yes_or_no(in_bounds, f"its {name} is {text}")
        return text if self.plan.brief else self.choose([f"Its {name} is {text}.", f"The {name} is {text}."])

    def answer_contents(self, intent: Intent, molecule: Chem.Mol) -> str:
        """Answers how many of the named elements and groups there are, or whether there is one."""
        symbols = element_counts(molecule)
        found = [(symbols[e], f"{ELEMENTS[e]} atom", f"{ELEMENTS[e]} atoms") for e in intent.elements]
        found += [
            (functional_groups.count(molecule, group), display_name(group), plural(display_name(group)))
            for group in intent.groups
        ]
        if not found:
            return "I did not understand which element or group you mean."
        n, one, many = found[0]
        if intent.family.startswith("count"):
            if len(found) == 1:
                return self.answer_count(intent, n, one, many)
            if self.plan.brief:
                return ", ".join(str(number) for number, *_ in found)
        elif len(found) == 1:
            yes = n == 0 if "absent" in intent.modes else n > 0
            return self.yes_or_no(yes, f"it has {counted(n, one, many)}")
        return f"It has {join_and([counted(*each) for each in found])}."

    def yes_or_no(self, yes: bool, reason: str) -> str:
        word = "Yes" if yes else "No"
        return word if self.plan.brief else self.choose([f"{word}, {reason}.", f"{word}: {reason}."])

    def answer_property(self, intent: Intent, molecule: Chem.Mol) -> str:
        """Answers whether the molecule has a ring, is aromatic, chiral or charged."""
        if intent.family == "is_charged":
            n = MEASURES["charge"].compute(molecule)
            reason = f"its net charge is {format_measure('charge', n)}"
        else:
            count, one, many = COUNTS[COUNT_OF_PROPERTY[intent.family]]
            n = count(molecule)
            reason = f"it has {counted(n, one, many)}"
        return self.yes_or_no((n == 0) == ("absent" in intent.modes), reason)

    def smiles(self, reading: Reading) -> Parts:
        text = Smiles(reading.smiles)
        if self.plan.brief:
            return [text]
        start = self.choose(["The SMILES is ", "I read it as ", "This is "])
        return [start, text, ".", *sentence_on_undetermined(reading)]

    def name(self, reading: Reading) -> Parts:
        name, exact = common_name(reading.molecule)
        if not name:
            return [
                "I know the names of a few hundred common molecules only, and this is none of them. Its SMILES is ",
                Smiles(reading.smiles),
                ".",
            ]
        if self.plan.brief:
            return [name]
        start = f"It is known as {name}: " if exact else f"But for its stereochemistry it is {name}: "
        return [start, Smiles(reading.smiles), "."]

    def inchi(self, reading: Reading) -> Parts:
        text, key = properties.inchi(reading.molecule)
        return [Smiles(text)] if self.plan.brief else ["Its InChI is ", Smiles(text), f" and its InChIKey {key}."]

    def molfile(self, reading: Reading) -> Parts:
        text = Molfile(f"```\n{reading.molfile()}```")
        return [text] if self.plan.brief else ["Its mol file (V3000):\n", text]

    def formula(self, reading: Reading) -> Parts:
        text = properties.formula(reading.molecule)
        if self.plan.brief:
            return [text]
        return [self.choose([f"Its molecular formula is {text}.", f"The formula is {text}."])]

    def elements(self, reading: Reading) -> Parts:
        symbols = element_counts(reading.molecule)
        if self.plan.brief:
            return [", ".join(symbols)]
        return [f"It consists of {join_and([ELEMENTS.get(symbol, symbol) for symbol in symbols])}."]

    def groups(self, reading: Reading) -> Parts:
        groups = functional_groups.summary(reading.molecule)
        if self.plan.brief:
            return [", ".join(name for name, _ in groups) or "none"]
        return [sentence_of_groups(groups)]

    def describe(self, reading: Reading) -> Parts:
        molecule, is_definite = reading.molecule, reading.is_definite()
        rings = COUNTS["count_rings"].compute(molecule)
        aromatic = COUNTS["count_aromatic"].compute(molecule)
        sentence = f"It has {counted(rings, 'ring', 'rings')}"
        if rings:
            sentence += f", of which {counted(aromatic, 'is', 'are') if aromatic else 'none is'} aromatic"
        if not is_determined("count_rings", molecule):
            sentence = "I cannot tell how many rings it has"
        mass = MEASURES["mass"].compute(molecule)
        return [
            "It is ",
            Smiles(reading.smiles),
            f", {properties.formula(molecule)}, {mass:.2f} g/mol. " if is_definite else ". ",
            sentence + ".",
            *(
                [" ", sentence_of_groups(functional_groups.summary(molecule))]
                if is_definite
                else sentence_on_undetermined(reading)
            ),
        ]

    def confidence(self, reading: Reading) -> Parts:
        if self.plan.brief:
            return [f"{reading.confidence:.0%}"]
        start = "I am not sure" if reading.is_unsure() else "I am quite sure"
        return [f"{start}: the chance that I read the drawing exactly is about {reading.confidence:.0%}."]

    def compare_with_named(self, question: Question, drawing: int, named: NamedMolecule) -> Parts:
        """Compares a drawing with a molecule that the question names."""
        reading, intent = self.read(drawing), question.intent
        name = self.plan.names[drawing] if len(question.drawings) > 1 else "the drawing"
        if not reading.is_readable():
            return [cannot_compare(name, reading)]
        self.used[drawing] = reading
        names, molecules = (name, named.name), (reading.molecule, named.molecule)
        if not comparison.are_comparable(intent.family, molecules):
            sentences: Parts = [depends_on_undetermined(molecules)]
        elif intent.family == "same":
            stereo = not named.any_stereo
            sentences = comparison.compare_with_named(intent, names, molecules, stereo, self.plan.brief)
        else:
            sentences = comparison.compare(intent, names, molecules, self.plan.brief)
        return self.warning(drawing, reading, sentences) + sentences

    def compare_drawings(self, question: Question) -> Parts:
        """Compares the drawings of a question, usually two."""
        drawings = question.drawings
        if len(drawings) < 2:
            return [NAME_TWO if len(self.plan.pictures) > 1 else "I need two drawings to compare. " + SEND_PICTURE]
        names = [self.plan.names[drawing] for drawing in drawings]
        readings = [self.read(drawing) for drawing in drawings]
        for name, reading in zip(names, readings):
            if not reading.is_readable():
                return [cannot_compare(name, reading)]
        self.used |= dict(zip(drawings, readings, strict=True))
        unsure = [name for name, reading in zip(names, readings) if reading.is_unsure()]
        warning = [f"I am not sure that I read {join_and(unsure)} right. "] if unsure and not self.plan.brief else []
        molecules = [reading.molecule for reading in readings]
        if not comparison.are_comparable(question.intent.family, molecules):
            return [*warning, depends_on_undetermined(molecules)]
        return warning + comparison.compare(question.intent, names, molecules, self.plan.brief)


def join_with_spaces(answers: Sequence[Parts]) -> Parts:
    """Returns the parts of several answers, separated."""
    out: Parts = []
    for parts in answers:
        out += [*separator(out, parts), *parts]
    return out


def separator(before: Parts, after: Parts) -> Parts:
    """Returns what separates two answers: a space, or the end of a line beside a mol file."""
    ends = [*before[-1:], *[part for part in after if part][:1]]
    if len(ends) < 2:
        return []
    return ["\n" if any(isinstance(part, Molfile) for part in ends) else " "]


def without_long_molfiles(parts: Parts, most: int) -> Parts:
    """Replaces the mol files that do not end within the most tokens of an answer by TOO_LONG."""
    out: Parts = []
    before = 0
    for part in parts:
        length = before + len(tokens([part]))
        if isinstance(part, Molfile) and length > most:
            part = TOO_LONG.format(length, most)
            length = before + len(tokens([part]))
        out.append(part)
        before = length
    return out


def sentence_of_groups(groups: Sequence[tuple[str, int]]) -> str:
    if not groups:
        return "I find none of the functional groups that I know."
    return f"It has {join_and([counted(n, display_name(name), plural(display_name(name))) for name, n in groups])}."


def sentence_on_undetermined(reading: Reading) -> Parts:
    """Returns a sentence on what a drawing does not say of its molecule, none for a definite one."""
    found = undetermined([reading.molecule])
    return [f" The drawing does not say {found}."] if found else []


def depends_on_undetermined(molecules: Sequence[Chem.Mol]) -> str:
    """Returns the answer to a question that needs definite molecules, if some are not."""
    return f"I cannot tell: that depends on {undetermined(molecules)}."


def undetermined(molecules: Sequence[Chem.Mol]) -> str:
    """Returns what drawings do not say: "what R1 and X stand for and how often the unit in brackets repeats (n)"; ""
    for definite molecules."""
    names = {name for molecule in molecules for name in placeholders.names(molecule)}
    counts = [count for molecule in molecules for count, _ in markush.repeat_units(molecule)]
    groups = [
        f"the {name}" if name == ATTACHMENT_POINT_NAME else name for name in placeholders.in_order(names - {*counts})
    ]
    places = sum(len(list(markush.attachments(molecule))) for molecule in molecules)
    found = [f"what {join_and(groups)} {'stands' if len(groups) == 1 else 'stand'} for"] if groups else []
    if counts:
        repeats = "unit in brackets repeats" if len(counts) == 1 else "units in brackets repeat"
        found.append(f"how often the {repeats} ({join_and(placeholders.in_order({*counts}))})")
    if places:
        found.append(f"where on {'its ring a substituent is' if places == 1 else 'their rings substituents are'}")
    return join_and(found) if found else ""


def cannot_compare(name: str, reading: Reading) -> str:
    reason = "could not be read." if reading.is_drawing() else "does not look like a drawing of a molecule."
    return f"I cannot compare them: {name} {reason}"

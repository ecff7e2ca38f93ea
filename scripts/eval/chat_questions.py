"""Questions about a drawing with expected answers, which RDKit computes from the molecule of the drawing.

The wordings are for the evaluation and not in the training templates (scripts/train/phrases/templates). But similar
templates were added there because of failures in a trial, so the figures of these questions are an upper bound.
out_of_scope.txt has the questions out of scope, and which of them are held out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from scripts.served_reader.properties import canonical_smiles

Truth = Callable[[Chem.Mol], object]


@dataclass(frozen=True)
class Question:
    """A question: its row of the table, its wordings, and the expected answer."""

    kind: str
    wordings: tuple[str, ...]
    truth: Truth


def has(smarts: str) -> Truth:
    """Reports whether a molecule has a substructure."""
    pattern = Chem.MolFromSmarts(smarts)
    return lambda molecule: molecule.HasSubstructMatch(pattern)


def atoms(symbol: str) -> Truth:
    """Returns the number of atoms of an element."""
    return lambda molecule: sum(a.GetSymbol() == symbol for a in molecule.GetAtoms())


QUESTIONS = (
    Question(
        "rings",
        (
            "What's the ring count here?",
            "How many rings has this got in all?",
            "Tell me how many rings I drew.",
            "i need the number of rings",
            "Rings: how many?",
        ),
        rdMolDescriptors.CalcNumRings,
    ),
    Question(
        "aromatic rings",
        (
            "How many of the rings in it are aromatic?",
            "Give me the aromatic ring count, please.",
            "Number of aromatic rings in the drawn compound?",
        ),
        rdMolDescriptors.CalcNumAromaticRings,
    ),
    Question(
        "yes/no",
        ("Is a halogen attached anywhere?", "Are there halogen atoms in my molecule?", "Do you see any halogens?"),
        has("[F,Cl,Br,I]"),
    ),
    Question(
        "yes/no",
        (
            "Has it got sulfur in it?",
            "Is there sulphur anywhere in this structure?",
            "does this one contain any S atoms?",
        ),
        has("[#16]"),
    ),
    Question(
        "yes/no",
        ("Does chlorine occur in the compound?", "any chlorine?", "Can you see a chlorine atom in the picture?"),
        has("Cl"),
    ),
    Question(
        "yes/no",
        ("Is the drawn compound cyclic?", "Does it possess a ring?", "Are there any rings at all in it?"),
        has("[R]"),
    ),
    Question(
        "yes/no",
        (
            "Is there something aromatic in it?",
            "Is this an aromatic molecule?",
            "Does it have at least one aromatic ring?",
        ),
        has("a"),
    ),
    Question(
        "yes/no",
        (
            "Do I have an amide in there?",
            "Is an amide group part of this molecule?",
            "Would you find an amide bond in it?",
        ),
        has("[CX3;H1,$(C[#6])](=[OX1])[NX3]"),
    ),
    Question(
        "yes/no",
        ("Does the structure contain a nitrile?", "Is there a cyano group?", "any nitrile groups in this?"),
        has("[CX2]#[NX1]"),
    ),
    Question(
        "yes/no",
        ("Does this molecule carry a net charge?", "Is what I drew an ion?", "Is it charged or not?"),
        lambda m: Chem.GetFormalCharge(m) != 0,
    ),
    Question(
        "formula",
        ("What is the sum formula of this?", "Please give its molecular formula.", "Formula of the drawn molecule?"),
        rdMolDescriptors.CalcMolFormula,
    ),
    Question(
        "heavy atoms",
        ("How many heavy atoms does it consist of?", "Heavy atoms: how many are there?"),
        Chem.Mol.GetNumHeavyAtoms,
    ),
    Question(
        "nitrogens",
        ("How many nitrogens are in this one?", "Count the N atoms, please.", "what is the number of nitrogen atoms"),
        atoms("N"),
    ),
    Question(
        "oxygens",
        ("Tell me the number of oxygen atoms.", "how many O atoms can you count?", "How many oxygens?"),
        atoms("O"),
    ),
    Question(
        "charge",
        ("Which net charge does it have?", "What is the formal charge of the whole molecule?"),
        Chem.GetFormalCharge,
    ),
    Question(
        "stereocentres",
        ("How many stereocenters does this have?", "Count the chiral centers."),
        rdMolDescriptors.CalcNumAtomStereoCenters,
    ),
)

FOLLOWING = (
    (
        ("How many rings are there?", "And how many of those are aromatic?"),
        rdMolDescriptors.CalcNumAromaticRings,
        "rings, then aromatic",
    ),
    (("How many nitrogen atoms does it have?", "and oxygen?"), atoms("O"), "nitrogen, then oxygen"),
    (("What is this?", "What's its formula?"), rdMolDescriptors.CalcMolFormula, "SMILES, then formula"),
    (("Does it contain fluorine?", "What about sulfur?"), has("[#16]"), "fluorine, then sulfur"),
)
"""Two turns, the expected answer to the second, and the row of the table."""

SECOND = ("How many rings does this molecule have?", "And this one?")
"""Two turns; the second shows another drawing."""


def out_of_scope() -> dict[str, list[str]]:
    """Returns the questions of out_of_scope.txt, which a drawing does not answer, by set."""
    sets: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("out_of_scope.txt").read_text().splitlines():
        if line.startswith("== "):
            questions = sets[line[3:].partition(":")[0]] = []
        elif line and not line.startswith("#"):
            questions.append(line)
    return sets


SMILES = (
    "What is the SMILES of this molecule?",
    "Which molecule do you see in this picture?",
    "Please write this structure as SMILES.",
    "What is this?",
    "Give me the SMILES for the drawing.",
    "can you transcribe this structure to smiles",
)


def smiles(answer: str) -> str:
    """Returns the canonical SMILES or CXSMILES in an answer, or ""."""
    extended = re.search(r"\S+ \|[^|]+\|", answer)
    if extended and (molecule := Chem.MolFromSmiles(extended[0])):
        return canonical_smiles(molecule)
    for word in reversed(answer.removesuffix(".").split()):
        if len(word) > 2 and re.search(r"[A-Za-z]", word) and (molecule := Chem.MolFromSmiles(word)):
            return Chem.MolToSmiles(molecule)
    return ""


def value(answer: str, kind: type) -> object:
    """Returns the value in an answer, or None: yes or no for bool, a number for int, else a formula at the end."""
    text = re.sub(r"^I am not sure that I read .*? right( \(about \d+%\))?\. (I read it as \S+\. )?", "", answer)
    if kind is bool:
        return {"yes": True, "no": False}.get(re.split(r"\W", text.lower())[0])
    if kind is int:
        found = re.search(r"(?<![\w.])([+-]?\d+|no)\b", text)
        return None if not found else 0 if found.group(1) == "no" else int(found.group(1))
    found = re.search(r"\b(C\d*H\d*\S*?)\.?$", text)
    return found.group(1) if found else None


def right(answer: str, truth: object) -> bool:
    return value(answer, type(truth)) == truth


def wording(question: Question, seed: str) -> str:
    """Returns a random wording of a question."""
    return random.Random(f"{seed} {question.kind} {question.wordings[0]}").choice(question.wordings)

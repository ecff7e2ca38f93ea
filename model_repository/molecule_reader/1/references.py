"""Molecules that a question names: by a SMILES in its text, or by a common name (names.tsv).

    "Is it the same as CC(=O)Oc1ccccc1C(=O)O?"      "Is this aspirin?"      "Has it more rings than caffeine?"

The network that understands questions has seen neither, so it is given the text with "the other drawing" in their place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from rdkit import Chem, RDLogger

import facts
from conversation import COMPARING, PAIR
from phrases import Asked, Understood

LONGEST = 400
"""Letters of a SMILES looked at, and words of a text."""
STAND_IN = "the other drawing"
WORD = re.compile(r"\S+")
WRITTEN = re.compile(r"[A-Za-z0-9@+\-\[\]()=#%/\\.*:]+")
SPECIAL = re.compile(r"[=#\[\]()@0-9/\\]")
CHAIN = re.compile(r"(?:Cl|Br|[BCNOPSFI]){3,}")
IDENTITY = re.compile(
    r"^\W*(?:(?:so|and|but|then|ok|answer|say|tell|me|with|in|one|a|single|word|please|if|whether|only|yes|or|no|just)\b\W*)*"
    r"(?:is|are|was|were|could|might|would|does|do|isn't|aren't)\b.*\b" + STAND_IN,
    re.IGNORECASE,
)
"""A yes or no about what something is."""
WHICH = re.compile(r"\bwhich\b.*\b(?:is|shows?|are)\b.*\b" + STAND_IN, re.IGNORECASE)
NOT_IDENTITY = re.compile(
    r"\b(?:how|what|many|much|has|have|contains?|more|fewer|less|than|similar|equal|heavier|lighter|larger|smaller)\b",
    re.IGNORECASE,
)
APART = re.compile(r"\b(?:different|differs?|other than|not|unlike)\b|n't\b", re.IGNORECASE)
"""Words that ask for the opposite."""
THAN = re.compile(
    r"\b(more|larger|bigger|higher|greater|heavier)\b|\b(fewer|less|lower|smaller|lighter)\b", re.IGNORECASE
)
SEVERAL = re.compile(r"\b(?:they|these|those|them|both|which)\b", re.IGNORECASE)

RDLogger.DisableLog("rdApp.*")


@dataclass(frozen=True)
class Reference:
    """A molecule that was named; it stands where a reading does in a comparison."""

    said: str  # what to call it in an answer
    molecule: Chem.Mol
    smiles: str
    loose: bool = False  # a name that is used without regard to stereochemistry
    confidence: float = 1.0
    drawing: float = 1.0
    unknown: bool = False


@cache
def table() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """SMILES by name in lower case; the first name by SMILES, and by SMILES without stereo."""
    by_name: dict[str, str] = {}
    exact: dict[str, str] = {}
    flat: dict[str, str] = {}
    for line in (Path(__file__).parent / "names.tsv").read_text().splitlines():
        smiles, *names = line.split("\t")
        molecule = Chem.MolFromSmiles(smiles)
        by_name |= dict.fromkeys(names, smiles)
        exact.setdefault(facts.canonical(molecule), names[0])
        flat.setdefault(facts.canonical(molecule, stereo=False), names[0])
    return by_name, exact, flat


@cache
def named() -> re.Pattern[str]:
    """Any of the names as words of their own, the longest first."""
    names = sorted(table()[0], key=len, reverse=True)
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])", re.I)


def called(molecule: Chem.Mol) -> tuple[str, bool]:
    """The common name of a molecule, "" for none, and whether its stereochemistry is the name's too."""
    _, exact, flat = table()
    name = exact.get(facts.canonical(molecule))
    return (name, True) if name else (flat.get(facts.canonical(molecule, stereo=False), ""), False)


def find(text: str) -> tuple[str, list[Reference]]:
    """The text with the molecules that it names hidden, and those molecules."""
    found: list[Reference] = []
    words = WORD.findall(text)
    if len(words) <= LONGEST:
        for word in words:
            smiles = written(word)
            if smiles:
                found.append(Reference("the molecule that you gave", Chem.MolFromSmiles(smiles), smiles))
                text = text.replace(smiles, STAND_IN, 1)

    def hide(match: re.Match[str]) -> str:
        name = match.group().lower()
        smiles = table()[0][name]
        found.append(Reference(name, Chem.MolFromSmiles(smiles), smiles, loose="@" not in smiles))
        return STAND_IN

    return named().sub(hide, text), found


def written(word: str) -> str:
    """The SMILES that a word of a text is, without the signs around it; "" for none."""
    word = word.strip("\"'`,;?!<>{}").removesuffix(".").strip("\"'`")
    if (
        not 2 <= len(word) <= LONGEST
        or not WRITTEN.fullmatch(word)
        or not (SPECIAL.search(word) or CHAIN.fullmatch(word))
    ):
        return ""
    molecule = Chem.MolFromSmiles(word)
    return word if molecule is not None and molecule.GetNumAtoms() > 1 else ""


def understood(text: str, understand) -> Understood:
    """What a text asks, with the molecules that it names."""
    hidden, found = find(text)
    said = understand(hidden)
    if not found:
        return said
    asked = [referring(one, hidden, found) for one in said.asked]
    return Understood([a for i, a in enumerate(asked) if a not in asked[:i]], said.brief)


def referring(asked: Asked, text: str, found: list[Reference]) -> Asked:
    """The question with the molecules to compare with, if it compares."""
    kept = [d for d in asked.drawings if d not in ("other", "both")]
    if (IDENTITY.search(text) or WHICH.search(text)) and not NOT_IDENTITY.search(text):
        return Asked(
            "same",
            1.0,
            [],
            [],
            kept or (["both"] if SEVERAL.search(text) else []),
            ["absent"] if APART.search(text) else [],
            None,
            list(found),
        )
    than = THAN.search(text)
    if than and not COMPARING & set(asked.modes) and re.search(r"\bthan\b", text):
        asked = replace(asked, modes=["more" if than.group(1) else "fewer"])
    if asked.family in PAIR or COMPARING & set(asked.modes):
        return replace(asked, drawings=kept, references=list(found))
    return replace(asked, drawings=kept)

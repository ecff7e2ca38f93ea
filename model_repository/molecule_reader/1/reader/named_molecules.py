"""Finds molecules named in a question: by SMILES or CXSMILES in its text, or by a common name (names.tsv).

    "Is it the same as CC(=O)Oc1ccccc1C(=O)O?"      "Is this aspirin?"      "Has it more rings than caffeine?"

The intent network knows neither SMILES nor names, so it gets the text with "the other drawing" in their place.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from rdkit import Chem, RDLogger

from .intents import COMPARING, PAIR, Intent, NamedMolecule, ParsedText
from .properties import canonical_smiles

MAX_SMILES = 400
"""The longest SMILES that is found, in characters."""
MAX_WORDS = 400
"""The longest text that is searched for SMILES, in words."""
OTHER_DRAWING = "the other drawing"
"""Replaces a molecule in a text before the text is parsed."""
WORD = re.compile(r"\S+")
SMILES_LETTERS = re.compile(r"[A-Za-z0-9@+\-\[\]()=#%/\\.*:]+")
SMILES_SIGNS = re.compile(r"[=#\[\]()@0-9/\\]")
ATOM_LABELS = r" \|\$[!-#%-{}~]{1,400}\$\|"
"""What CXSMILES has after the SMILES."""
CHAIN = re.compile(r"(?:Cl|Br|[BCNOPSFI]){3,}")
IDENTITY = re.compile(
    r"^\W*(?:(?:so|and|but|then|ok|answer|say|tell|me|with|in|one|a|single|word|please|if|whether|only|yes|or|no|just)"
    r"\b\W*)*"
    r"(?:is|are|was|were|could|might|would|does|do|isn't|aren't)\b.*\b" + OTHER_DRAWING,
    re.IGNORECASE,
)
"""A yes-or-no question whether a drawing is the molecule."""
WHICH = re.compile(r"\bwhich\b.*\b(?:is|shows?|are)\b.*\b" + OTHER_DRAWING, re.IGNORECASE)
NOT_IDENTITY = re.compile(
    r"\b(?:how|what|many|much|has|have|contains?|more|fewer|less|than|similar|equal|heavier|lighter|larger|smaller)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:different|differs?|other than|not|unlike)\b|n't\b", re.IGNORECASE)
THAN = re.compile(
    r"\b(more|larger|bigger|higher|greater|heavier)\b|\b(fewer|less|lower|smaller|lighter)\b", re.IGNORECASE
)
SEVERAL = re.compile(r"\b(?:they|these|those|them|both|which)\b", re.IGNORECASE)

RDLogger.DisableLog("rdApp.*")


@cache
def names_table() -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Returns SMILES by lower-case name; the first name by SMILES, and by SMILES without stereochemistry."""
    by_name: dict[str, str] = {}
    exact: dict[str, str] = {}
    without_stereo: dict[str, str] = {}
    for line in Path(__file__).with_name("names.tsv").read_text().splitlines():
        smiles, *names = line.split("\t")
        molecule = Chem.MolFromSmiles(smiles)
        by_name |= dict.fromkeys(names, smiles)
        exact.setdefault(canonical_smiles(molecule), names[0])
        without_stereo.setdefault(canonical_smiles(molecule, stereo=False), names[0])
    return by_name, exact, without_stereo


@cache
def names_pattern() -> re.Pattern[str]:
    """Returns a pattern of all names as whole words, the longest first."""
    names = sorted(names_table()[0], key=len, reverse=True)
    return re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, names)) + r")(?![\w-])", re.IGNORECASE)


def common_name(molecule: Chem.Mol) -> tuple[str, bool]:
    """Returns the common name of a molecule, "" for none, and whether its stereochemistry matches too."""
    _, exact, without_stereo = names_table()
    name = exact.get(canonical_smiles(molecule))
    return (name, True) if name else (without_stereo.get(canonical_smiles(molecule, stereo=False), ""), False)


def hide_molecules(text: str) -> tuple[str, list[NamedMolecule]]:
    """Returns the text with OTHER_DRAWING in place of the molecules that it names, and these molecules."""
    found: list[NamedMolecule] = []
    words = WORD.findall(text)
    if len(words) <= MAX_WORDS:
        for word in words:
            smiles = smiles_in(word, has_labels=f"{word} |$" in text)
            if smiles:
                labelled = re.search(re.escape(smiles) + ATOM_LABELS, text)
                smiles = labelled.group() if labelled else smiles
                found.append(NamedMolecule("the molecule that you gave", Chem.MolFromSmiles(smiles)))
                text = text.replace(smiles, OTHER_DRAWING, 1)

    def hide(match: re.Match[str]) -> str:
        name = match.group().lower()
        smiles = names_table()[0][name]
        found.append(NamedMolecule(name, Chem.MolFromSmiles(smiles), any_stereo="@" not in smiles))
        return OTHER_DRAWING

    return names_pattern().sub(hide, text), found


def smiles_in(word: str, has_labels: bool = False) -> str:
    """Returns the SMILES in a word of a text, without the punctuation around it; "" for none.

    has_labels: whether it is followed by the labels of CXSMILES, so that any SMILES counts.
    """
    word = word.strip("\"'`,;?!<>{}").removesuffix(".").strip("\"'`")
    if not 2 <= len(word) <= MAX_SMILES or not SMILES_LETTERS.fullmatch(word):
        return ""
    if not (has_labels or SMILES_SIGNS.search(word) or CHAIN.fullmatch(word)):
        return ""
    molecule = Chem.MolFromSmiles(word)
    return word if molecule is not None and molecule.GetNumAtoms() > 1 else ""


def parse_with_molecules(text: str, parse: Callable[[str], ParsedText]) -> ParsedText:
    """Returns the questions of a text with the molecules that they name."""
    hidden, molecules = hide_molecules(text)
    parsed = parse(hidden)
    if not molecules:
        return parsed
    intents = [_compare_with(intent, hidden, molecules) for intent in parsed.intents]
    return ParsedText([a for i, a in enumerate(intents) if a not in intents[:i]], parsed.brief)


def _compare_with(intent: Intent, text: str, molecules: list[NamedMolecule]) -> Intent:
    """Returns the intent with the named molecules if it compares, without the drawings that OTHER_DRAWING added."""
    drawings = [name for name in intent.drawings if name not in ("other", "both")]
    if (IDENTITY.search(text) or WHICH.search(text)) and not NOT_IDENTITY.search(text):
        return Intent(
            "same",
            1.0,
            drawings=drawings or (["both"] if SEVERAL.search(text) else []),
            modes=["absent"] if NEGATION.search(text) else [],
            molecules=list(molecules),
        )
    than = THAN.search(text)
    if than and not COMPARING & set(intent.modes) and re.search(r"\bthan\b", text):
        intent = replace(intent, modes=["more" if than.group(1) else "fewer"])
    if intent.family in PAIR or COMPARING & set(intent.modes):
        return replace(intent, drawings=drawings, molecules=list(molecules))
    return replace(intent, drawings=drawings)

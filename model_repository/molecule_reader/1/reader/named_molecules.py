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

from . import markush
from .intents import COMPARING, PAIR, Intent, NamedMolecule, ParsedText
from .properties import canonical_smiles

MAX_SMILES = 400
"""The longest SMILES that is found, in characters."""
MAX_WORDS = 400
"""The longest text that is searched for SMILES, in words."""
MAX_MOLECULES = 16
"""The most molecules of a text that are found: the first ones, SMILES before names."""
OTHER_DRAWING = "the other drawing"
"""Replaces a molecule in a text before the text is parsed."""
WORD = re.compile(r"\S+")
SMILES_LETTERS = re.compile(r"[A-Za-z0-9@+\-\[\]()=#%/\\.*:]+")
SMILES_SIGNS = re.compile(r"[=#\[\]()@0-9/\\]")
EXTENSION = re.compile(r" \|(?=\$|m:|Sg:)[!-{}~]{1,600}\|")
"""What CXSMILES has after the SMILES: labels, variable attachments, repeat units."""
CHAIN = re.compile(r"(?:Cl|Br|[BCNOPSFI]){3,}")
IDENTITY = re.compile(
    r"^\W*(?:(?:so|and|but|then|ok|answer|say|tell|me|with|in|one|a|single|word|please|if|whether|only|yes|or|no|just)"
    r"\b\W*)*"
    r"(?:is|are|was|were|could|might|would|does|do|isn['’]t|aren['’]t)\b",
    re.IGNORECASE,
)
"""The start of a yes-or-no question whether a drawing is the molecule."""
WHICH = re.compile(r"\bwhich\b", re.IGNORECASE)
VERB = re.compile(r"\b(?:is|shows?|are)\b", re.IGNORECASE)
NOT_IDENTITY = re.compile(
    r"\b(?:how|what|many|much|has|have|contains?|more|fewer|less|than|similar|equal|heavier|lighter|larger|smaller)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:different|differs?|other than|not|unlike)\b|n['’]t\b", re.IGNORECASE)
THAN = re.compile(
    r"\b(more|larger|bigger|higher|greater|heavier)\b|\b(fewer|less|lower|smaller|lighter)\b", re.IGNORECASE
)
SENTENCE_END = re.compile(r"[.?!;](?=\s)|\n")
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
    pieces: list[str] = []
    end = 0
    words = list(WORD.finditer(text))
    for word in words if len(words) <= MAX_WORDS else []:
        if len(found) == MAX_MOLECULES:
            break
        extension = EXTENSION.match(text, word.end())
        smiles = smiles_in(word.group(), is_extended=extension is not None)
        if not smiles:
            continue
        start = text.index(smiles, word.start())
        extension = EXTENSION.match(text, start + len(smiles))
        given = smiles + extension.group() if extension else smiles
        molecule = parse_cxsmiles(given) if extension else Chem.MolFromSmiles(given)
        if molecule is None:  # The extension does not fit.
            continue
        found.append(NamedMolecule("the molecule that you gave", molecule))
        pieces += [text[end:start], OTHER_DRAWING]
        end = start + len(given)
    text = "".join([*pieces, text[end:]])

    def hide(match: re.Match[str]) -> str:
        name = match.group().lower()
        smiles = names_table()[0][name]
        found.append(NamedMolecule(name, Chem.MolFromSmiles(smiles), any_stereo="@" not in smiles))
        return OTHER_DRAWING

    left = MAX_MOLECULES - len(found)
    return names_pattern().sub(hide, text, left) if left else text, found


def parse_cxsmiles(text: str) -> Chem.Mol | None:
    """Returns the molecule of CXSMILES, None if they do not fit: such as a variable attachment to a neighbour of its
    end, or of an atom that is no star."""
    molecule = Chem.MolFromSmiles(text)
    if molecule is None:
        return None
    if any(molecule.GetAtomWithIdx(inner).GetAtomicNum() for inner, _ in markush.attachments(molecule)):
        return None
    try:
        canonical_smiles(molecule)
    except RuntimeError:
        return None
    return molecule


def smiles_in(word: str, is_extended: bool = False) -> str:
    """Returns the SMILES in a word of a text, without the punctuation around it; "" for none.

    is_extended: whether the EXTENSION of CXSMILES follows, so that any SMILES counts.
    """
    word = word.strip("\"'`,;?!<>{}").removesuffix(".").strip("\"'`")
    if not 2 <= len(word) <= MAX_SMILES or not SMILES_LETTERS.fullmatch(word):
        return ""
    if not (is_extended or SMILES_SIGNS.search(word) or CHAIN.fullmatch(word)):
        return ""
    molecule = Chem.MolFromSmiles(word)
    return word if molecule is not None and molecule.GetNumAtoms() > 1 else ""


def parse_with_molecules(text: str, parse: Callable[[str], ParsedText]) -> ParsedText:
    """Returns the questions of a text with the molecules that they name."""
    hidden, molecules = hide_molecules(text)
    parsed = parse(hidden)
    if not molecules:
        return parsed
    return ParsedText([_compare_with(intent, molecules) for intent in parsed.intents], parsed.brief)


def _compare_with(intent: Intent, molecules: list[NamedMolecule]) -> Intent:
    """Returns the intent with the named molecules if it compares, without the drawings that OTHER_DRAWING added."""
    names_molecule = OTHER_DRAWING in intent.text
    compares = intent.family in PAIR or bool(COMPARING & set(intent.modes))
    if not names_molecule and not compares:
        return intent
    drawings = [name for name in intent.drawings if name not in ("other", "both")]
    if names_molecule:
        before, after = _sentence(intent.text)
        start = _identity_start(before)
        if start is not None and not NOT_IDENTITY.search(before + after):
            return Intent(
                "same",
                1.0,
                drawings=drawings or (["both"] if SEVERAL.search(before) else []),
                modes=["absent"] if NEGATION.search(before, start) else [],
                molecules=list(molecules),
                text=intent.text,
            )
        than = THAN.search(intent.text)
        if than and not compares and re.search(r"\bthan\b", intent.text):
            intent = replace(intent, modes=["more" if than.group(1) else "fewer"])
            compares = True
    return replace(intent, drawings=drawings, molecules=list(molecules) if compares else [])


def _sentence(text: str) -> tuple[str, str]:
    """Returns what is before and after the first OTHER_DRAWING in its sentence."""
    before, _, after = text.partition(OTHER_DRAWING)
    return SENTENCE_END.split(before)[-1], SENTENCE_END.split(after, 1)[0]


def _identity_start(before: str) -> int | None:
    """Returns where the verb ends in a question whether a drawing is a molecule, from the words before the molecule;
    None for other questions."""
    verb = IDENTITY.match(before)
    which = WHICH.search(before)
    if not verb and which:
        verb = VERB.search(before, which.end())
    return verb.end() if verb else None

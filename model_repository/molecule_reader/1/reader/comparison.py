"""Compares molecules: whether they are the same, how two differ, which has more of something.

`names` and `molecules` have an item for each of them, two or more. A brief answer is the bare value. An identity
question with the mode absent asks whether the molecules are different.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from rdkit import Chem

from . import functional_groups, placeholders
from .functional_groups import display_name
from .intents import Intent
from .properties import (
    COUNTS,
    ELEMENTS,
    MEASURES,
    canonical_smiles,
    element_counts,
    format_measure,
    formula,
    is_determined,
    similarity,
)
from .wording import Parts, Smiles, counted, join_and, plural, upper_first

NAME_TWO = "Name the two drawings that I should compare, such as the first and the third."


class Quantity(NamedTuple):
    """A quantity of molecules: the values, the values as text, and the quantity's name."""

    values: list[float]
    texts: list[str]
    name: str


def compare(intent: Intent, names: Sequence[str], molecules: Sequence[Chem.Mol], brief: bool) -> Parts:
    """Answers a comparison."""
    if intent.family == "same":
        return compare_identity(intent, names, molecules, brief)
    if intent.family == "difference":
        return describe_difference(names, molecules)
    if intent.family == "formula":
        return compare_texts(names, [formula(m) for m in molecules], "molecular formula", brief)
    quantity = measure(intent, molecules)
    if quantity is None:
        return describe_difference(names, molecules)
    values, texts, name = quantity
    if "equal" in intent.modes:
        return compare_texts(names, texts, name, brief)
    extreme = max(values) if "more" in intent.modes else min(values)
    is_best = [abs(value - extreme) < 1e-9 for value in values]
    if all(is_best):
        return [("neither" if len(names) == 2 else "none") if brief else f"They are equal in this: {texts[0]}."]
    best = join_and(list(compress(names, is_best)))
    if brief:
        return [best]
    others = join_and([text for text, is_one in zip(texts, is_best) if not is_one])
    return [f"{upper_first(best)}: {texts[is_best.index(True)]} against {others}."]


def are_comparable(family: str, molecules: Sequence[Chem.Mol]) -> bool:
    """Reports whether all molecules have what is compared for a family of questions.

    Families without a quantity are answered with a description of the difference, which has the formulas.
    """
    compared = family if family in COUNTS or family == "same" else "formula"
    return all(is_determined(compared, molecule) for molecule in molecules)


def measure(intent: Intent, molecules: Sequence[Chem.Mol]) -> Quantity | None:
    """Returns the quantity that a question is about, None if it is about none."""
    if intent.family in MEASURES:
        compute, name, _ = MEASURES[intent.family]
        measures = [compute(m) for m in molecules]
        return Quantity(measures, [format_measure(intent.family, value) for value in measures], name)
    if intent.family in COUNTS:
        count, one, many = COUNTS[intent.family]
        counts = [count(m) for m in molecules]
    elif intent.elements:
        symbol = intent.elements[0]
        one, many = f"{ELEMENTS[symbol]} atom", f"{ELEMENTS[symbol]} atoms"
        counts = [element_counts(m)[symbol] for m in molecules]
    elif intent.groups:
        group = intent.groups[0]
        one, many = display_name(group), plural(display_name(group))
        counts = [functional_groups.count(m, group) for m in molecules]
    else:
        return None
    return Quantity([*counts], [counted(n, one, many) for n in counts], f"number of {many}")


def compare_texts(names: Sequence[str], texts: Sequence[str], name: str, brief: bool) -> Parts:
    """Answers whether the values are equal."""
    if len(set(texts)) > 1:
        rest = "".join(f", {other} {text}" for other, text in zip(names[1:], texts[1:]))
        return ["No" if brief else f"No: {names[0]} has {texts[0]}{rest}."]
    if brief:
        return ["Yes"]
    if texts[0][0].isdigit():
        return [f"Yes, {both_or_all(names)} have {texts[0]}."]
    return [f"Yes, {both_or_all(names)} have the same {name}: {texts[0]}."]


def compare_identity(intent: Intent, names: Sequence[str], molecules: Sequence[Chem.Mol], brief: bool) -> Parts:
    """Answers whether all drawings show the same molecule."""
    different = (f"they are different: {names[0]} is ", *(f", {name} " for name in names[1:]))
    return _identity(intent, molecules, True, brief, f"{both_or_all(names)} show the same molecule: ", different)


def both_or_all(names: Sequence[str]) -> str:
    return "both" if len(names) == 2 else "all"


def compare_with_named(
    intent: Intent, names: Sequence[str], molecules: Sequence[Chem.Mol], stereo: bool, brief: bool
) -> Parts:
    """Answers whether a drawing, the first, shows the molecule that the question names."""
    different = (f"{names[0]} is ", f", and {names[1]} is ")
    return _identity(intent, molecules, stereo, brief, f"{names[0]} is {names[1]}: ", different)


def _identity(
    intent: Intent, molecules: Sequence[Chem.Mol], stereo: bool, brief: bool, same: str, different: Sequence[str]
) -> Parts:
    """Answers yes or no, with `same` before the SMILES of all, or `different` before each SMILES."""
    is_same = len({canonical_smiles(molecule, stereo) for molecule in molecules}) == 1
    word = "Yes" if is_same != ("absent" in intent.modes) else "No"
    if brief:
        return [word]
    smiles = [Smiles(canonical_smiles(molecule)) for molecule in molecules]
    if is_same:
        return [f"{word}, {same}", smiles[0], "."]
    listed = [part for pair in zip(different, smiles) for part in pair]
    return [f"{word}, ", *listed, ".", *(similarities(*molecules) if len(molecules) == 2 else [])]


def similarities(a: Chem.Mol, b: Chem.Mol) -> Parts:
    """Returns a sentence on what two different molecules have in common, none if it is neither skeleton nor formula."""
    if canonical_smiles(a, stereo=False) == canonical_smiles(b, stereo=False):
        return [" They differ only in their stereochemistry."]
    if placeholders.is_definite(a) and placeholders.is_definite(b) and formula(a) == formula(b):
        return [f" They are isomers, both {formula(a)}."]
    return []


def describe_difference(names: Sequence[str], molecules: Sequence[Chem.Mol]) -> Parts:
    """Tells how two molecules differ: formula, rings, groups and similarity. Of more, asks for two."""
    if len(molecules) > 2:
        return [NAME_TWO]
    a, b = molecules
    if canonical_smiles(a) == canonical_smiles(b):
        return ["There is none: both show the same molecule, ", Smiles(canonical_smiles(a)), "."]
    if canonical_smiles(a, stereo=False) == canonical_smiles(b, stereo=False):
        return [
            "They differ only in their stereochemistry: ",
            Smiles(canonical_smiles(a)),
            " and ",
            Smiles(canonical_smiles(b)),
            ".",
        ]
    out: Parts = [f"{upper_first(names[0])} is {formula(a)}, {names[1]} {formula(b)}."]
    rings = [COUNTS["count_rings"].compute(m) for m in molecules]
    if rings[0] != rings[1]:
        out.append(f" They have {rings[0]} and {rings[1]} rings.")
    groups = [dict(functional_groups.summary(m)) for m in molecules]
    for name, mine, other in zip(names, groups, groups[::-1]):
        more = [plural(display_name(group)) for group, n in mine.items() if n > other.get(group, 0)]
        if more:
            out.append(f" {upper_first(name)} has more of these: {join_and(more)}.")
    out.append(f" Their similarity (Tanimoto, Morgan fingerprints) is {similarity(a, b):.2f}.")
    return out

"""Compares two molecules: whether they are the same, how they differ, which has more of something.

`names` and `molecules` have two items each. A brief answer is the bare value. An identity question with the mode absent
asks whether the molecules are different.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rdkit import Chem

from . import functional_groups, placeholders
from .functional_groups import display_name
from .intents import Intent
from .properties import (
    COUNTS,
    ELEMENTS,
    MEASURES,
    NEED_NO_PLACEHOLDERS,
    canonical_smiles,
    element_counts,
    format_measure,
    formula,
    similarity,
)
from .wording import Parts, Smiles, counted, join_and, plural, upper_first


class Quantity(NamedTuple):
    """A quantity of two molecules: the values, the values as text, and the quantity's name."""

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
    if abs(values[0] - values[1]) < 1e-9:
        return ["neither" if brief else f"They are equal in this: {texts[0]}."]
    best = int((values[1] > values[0]) == ("more" in intent.modes))
    if brief:
        return [names[best]]
    return [f"{upper_first(names[best])}: {texts[best]} against {texts[1 - best]}."]


def needs_no_placeholders(family: str) -> bool:
    """Reports whether molecules with placeholders cannot be compared for a family of questions.

    Families without a quantity are answered with a description of the difference, which has the formulas.
    """
    return family != "same" and (family not in COUNTS or family in NEED_NO_PLACEHOLDERS)


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
    """Answers whether two values are equal."""
    if texts[0] != texts[1]:
        return ["No" if brief else f"No: {names[0]} has {texts[0]}, {names[1]} {texts[1]}."]
    if brief:
        return ["Yes"]
    if texts[0][0].isdigit():
        return [f"Yes, both have {texts[0]}."]
    return [f"Yes, both have the same {name}: {texts[0]}."]


def compare_identity(intent: Intent, names: Sequence[str], molecules: Sequence[Chem.Mol], brief: bool) -> Parts:
    """Answers whether two drawings show the same molecule."""
    first = f"they are different: {names[0]} is "
    return _identity(intent, molecules, True, brief, "both show the same molecule: ", (first, f", {names[1]} "))


def compare_with_named(
    intent: Intent, names: Sequence[str], molecules: Sequence[Chem.Mol], stereo: bool, brief: bool
) -> Parts:
    """Answers whether a drawing, the first, shows the molecule that the question names."""
    different = (f"{names[0]} is ", f", and {names[1]} is ")
    return _identity(intent, molecules, stereo, brief, f"{names[0]} is {names[1]}: ", different)


def _identity(
    intent: Intent, molecules: Sequence[Chem.Mol], stereo: bool, brief: bool, same: str, different: tuple[str, str]
) -> Parts:
    """Answers yes or no, with `same` before the SMILES of both, or `different` before each SMILES."""
    a, b = molecules
    is_same = canonical_smiles(a, stereo) == canonical_smiles(b, stereo)
    word = "Yes" if is_same != ("absent" in intent.modes) else "No"
    if brief:
        return [word]
    smiles = Smiles(canonical_smiles(a))
    if is_same:
        return [f"{word}, {same}", smiles, "."]
    before_a, before_b = different
    return [f"{word}, {before_a}", smiles, before_b, Smiles(canonical_smiles(b)), ".", *similarities(a, b)]


def similarities(a: Chem.Mol, b: Chem.Mol) -> Parts:
    """Returns a sentence on what two different molecules have in common, none if it is neither skeleton nor formula."""
    if canonical_smiles(a, stereo=False) == canonical_smiles(b, stereo=False):
        return [" They differ only in their stereochemistry."]
    if not placeholders.names(a) and formula(a) == formula(b):
        return [f" They are isomers, both {formula(a)}."]
    return []


def describe_difference(names: Sequence[str], molecules: Sequence[Chem.Mol]) -> Parts:
    """Tells how two molecules differ: formula, rings, groups and similarity."""
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

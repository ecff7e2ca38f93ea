"""Two molecules side by side: whether they are the same, how they differ, which has more of something."""

from __future__ import annotations

from collections.abc import Sequence

import facts
import groups
from phrases import Asked
from pieces import Smiles
from wording import capital, listed, number, plural

Parts = list[str]


def told(asked: Asked, names: Sequence[str], readings: Sequence, brief: bool) -> Parts:
    """The answer to a comparison of two readings, which have molecules."""
    if asked.family == "same":
        return same(asked, names, readings, brief)
    if asked.family == "difference":
        return difference(names, readings)
    molecules = [r.molecule for r in readings]
    if asked.family == "formula":
        return equal(names, [facts.formula(m) for m in molecules], "molecular formula", brief)
    measured = quantity(asked, molecules)
    if measured is None:
        return difference(names, readings)
    values, texts, what = measured
    if "equal" in asked.modes:
        return equal(names, texts, what, brief)
    if abs(values[0] - values[1]) < 1e-9:
        return ["neither" if brief else f"They are equal in this: {texts[0]}."]
    best = int((values[1] > values[0]) == ("more" in asked.modes))
    if brief:
        return [names[best]]
    return [f"{capital(names[best])}: {texts[best]} against {texts[1 - best]}."]


def quantity(asked: Asked, molecules: Sequence) -> tuple[list[float], list[str], str] | None:
    """The numbers to compare, each as text, and what they are; None where the question names none."""
    if asked.family in facts.MEASURES:
        compute, name, _ = facts.MEASURES[asked.family]
        values = [compute(m) for m in molecules]
        return values, [facts.written(asked.family, v) for v in values], name
    if asked.family in facts.COUNTS:
        count, one, many = facts.COUNTS[asked.family]
        values = [count(m) for m in molecules]
    elif asked.elements:
        name = facts.NAMES[asked.elements[0]]
        values, one, many = [facts.elements(m)[asked.elements[0]] for m in molecules], f"{name} atom", f"{name} atoms"
    elif asked.groups:
        values, one, many = (
            [groups.count(m, asked.groups[0]) for m in molecules],
            groups.shown(asked.groups[0]),
            plural(groups.shown(asked.groups[0])),
        )
    else:
        return None
    return values, [number(v, one, many) for v in values], f"number of {many}"


def equal(names: Sequence[str], texts: Sequence[str], what: str, brief: bool) -> Parts:
    if texts[0] == texts[1]:
        return [
            "Yes"
            if brief
            else f"Yes, both have {texts[0]}."
            if texts[0][0].isdigit()
            else f"Yes, both have the same {what}: {texts[0]}."
        ]
    return ["No" if brief else f"No: {names[0]} has {texts[0]}, {names[1]} {texts[1]}."]


def same(asked: Asked, names: Sequence[str], readings: Sequence, brief: bool) -> Parts:
    """Whether both are one molecule, or (mode absent) different ones."""
    a, b = (r.molecule for r in readings)
    one = facts.canonical(a) == facts.canonical(b)
    yes = one != ("absent" in asked.modes)
    if brief:
        return ["Yes" if yes else "No"]
    word = "Yes" if yes else "No"
    if one:
        return [f"{word}, both show the same molecule: ", Smiles(facts.canonical(a)), "."]
    return [
        f"{word}, they are different: {names[0]} is ",
        Smiles(facts.canonical(a)),
        f", {names[1]} ",
        Smiles(facts.canonical(b)),
        ".",
        *related(a, b),
    ]


def with_named(asked: Asked, names: Sequence[str], readings: Sequence, brief: bool) -> Parts:
    """Whether a drawing, the first, shows the molecule that was named, or (mode absent) another."""
    a, b = (r.molecule for r in readings)
    stereo = not readings[1].loose
    one = facts.canonical(a, stereo) == facts.canonical(b, stereo)
    word = "Yes" if one != ("absent" in asked.modes) else "No"
    if brief:
        return [word]
    if one:
        return [f"{word}, {names[0]} is {names[1]}: ", Smiles(facts.canonical(a)), "."]
    return [
        f"{word}, {names[0]} is ",
        Smiles(facts.canonical(a)),
        f", and {names[1]} is ",
        Smiles(facts.canonical(b)),
        ".",
        *related(a, b),
    ]


def related(a, b) -> Parts:
    """What two different molecules still have in common."""
    if facts.canonical(a, stereo=False) == facts.canonical(b, stereo=False):
        return [" They differ only in their stereochemistry."]
    if facts.formula(a) == facts.formula(b):
        return [f" They are isomers, both {facts.formula(a)}."]
    return []


def difference(names: Sequence[str], readings: Sequence) -> Parts:
    """In words: formula, rings, groups, and how similar they are."""
    a, b = (r.molecule for r in readings)
    if facts.canonical(a) == facts.canonical(b):
        return ["There is none: both show the same molecule, ", Smiles(facts.canonical(a)), "."]
    if facts.canonical(a, stereo=False) == facts.canonical(b, stereo=False):
        return [
            "They differ only in their stereochemistry: ",
            Smiles(facts.canonical(a)),
            " and ",
            Smiles(facts.canonical(b)),
            ".",
        ]
    out: Parts = [f"{capital(names[0])} is {facts.formula(a)}, {names[1]} {facts.formula(b)}."]
    count, one, many = facts.COUNTS["count_rings"]
    if count(a) != count(b):
        out.append(f" They have {count(a)} and {count(b)} rings.")
    have = [dict(groups.listed(m)) for m in (a, b)]
    for i in (0, 1):
        more = [name for name in have[i] if have[i][name] > have[1 - i].get(name, 0)]
        if more:
            out.append(f" {capital(names[i])} has more of these: {listed([plural(groups.shown(n)) for n in more])}.")
    out.append(f" Their similarity (Tanimoto, Morgan fingerprints) is {facts.similarity(a, b):.2f}.")
    return out

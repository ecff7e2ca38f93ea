#!/usr/bin/env python3
"""Writes golden values for package objective, from Python RDKit (2022.09.3).

The objectives are the composed tasks of PMO, with the values of the oracles of scripts/eval/pmo, and others with the
terms, modifiers and combinations that these lack:

    /usr/bin/python3 -m scripts.golden.objectives \
        chem/testdata/molecules.smi orchestrator/objective/testdata/objectives.json

Needs python3-rdkit (Debian 12). A value is null if there is no score.
"""

import json
import math
import sys

from rdkit import Chem
from rdkit.Chem import QED, Crippen, Descriptors, rdMolDescriptors
from rdkit.Chem.Scaffolds import MurckoScaffold

from scripts.eval.pmo import oracles, tasks

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def weighted(pairs, geometric=False):
    total = sum(weight for weight, _ in pairs)
    if not geometric:
        return sum(weight * value for weight, value in pairs) / total
    return (
        math.exp(sum(weight * math.log(value) for weight, value in pairs) / total)
        if min(v for _, v in pairs) > 0
        else 0.0
    )


def window(x, low, high, unit):
    return 1 / (1 + max(low - x, x - high, 0) / unit)


def scaffold(mol):
    return MurckoScaffold.MurckoScaffoldSmiles(mol=mol)


CORE = scaffold(Chem.MolFromSmiles(ASPIRIN))
SIMILAR = oracles.similarity(ASPIRIN, "ECFP4")
AP = oracles.similarity(ASPIRIN, "AP")

OTHERS = {
    "a sum with a window": (
        ["QED", {"name": "MW", "max": 400}, {"name": "SA", "weight": -0.1, "min": 1, "max": 2}],
        lambda m: QED.qed(m) + window(Descriptors.MolWt(m), -math.inf, 400, 50) - 0.1 * window(sa(m), 1, 2, 1),
    ),
    "an arithmetic mean": (
        {
            "combine": "arithmetic_mean",
            "terms": [
                {"name": "fraction_sp3", "weight": 2},
                {"name": "donors", "modifier": {"type": "threshold", "threshold": 3}},
                {"name": "acceptors", "modifier": {"type": "linear", "slope": -0.1, "intercept": 1}},
                {"name": "rotatable_bonds", "modifier": {"type": "window", "min": 2, "max": 5, "unit": 2}},
                {
                    "name": "heavy_atoms",
                    "modifier": {"type": "clipped", "upper": 10, "lower": 40, "low": 0.1, "high": 0.9},
                },
            ],
        },
        lambda m: weighted(
            [
                (2, rdMolDescriptors.CalcFractionCSP3(m)),
                (1, min(rdMolDescriptors.CalcNumHBD(m), 3) / 3),
                (1, 1 - 0.1 * rdMolDescriptors.CalcNumHBA(m)),
                (1, window(rdMolDescriptors.CalcNumRotatableBonds(m), 2, 5, 2)),
                (1, min(max(0.1 + 0.8 * (40 - m.GetNumHeavyAtoms()) / 30, 0.1), 0.9)),
            ]
        ),
    ),
    "a group within a group": (
        {
            "combine": "geometric_mean",
            "terms": [
                {"name": "similarity", "smiles": ASPIRIN, "weight": 0.5},
                {
                    "combine": "arithmetic_mean",
                    "weight": 1.5,
                    "modifier": {"type": "threshold", "threshold": 0.8},
                    "terms": [
                        {"name": "substructure", "smarts": "[CX3](=O)[OX2H1]"},
                        {"name": "substructure", "smarts": "c1ccccc1", "not": True},
                        {"name": "scaffold", "smiles": ASPIRIN, "weight": 3},
                        {"name": "scaffold", "smiles": ASPIRIN, "not": True},
                    ],
                },
            ],
        },
        lambda m: weighted(
            [
                (0.5, SIMILAR(m)),
                (
                    1.5,
                    min(
                        weighted(
                            [
                                (1, oracles.contains("[CX3](=O)[OX2H1]")(m)),
                                (1, oracles.contains("c1ccccc1", False)(m)),
                                (3, float(scaffold(m) == CORE)),
                                (1, float(scaffold(m) != CORE)),
                            ]
                        ),
                        0.8,
                    )
                    / 0.8,
                ),
            ],
            geometric=True,
        ),
    ),
    "what is below 0 in a geometric mean": (
        {"combine": "geometric_mean", "terms": ["LogP", "QED"]},
        lambda m: weighted([(1, Crippen.MolLogP(m)), (1, QED.qed(m))], geometric=True),
    ),
    "atom pairs": ({"name": "similarity", "smiles": ASPIRIN, "fingerprint": "atom_pairs"}, AP),
}


def sa(mol):
    import os

    from rdkit import RDConfig

    sys.path.append(os.path.join(RDConfig.RDContribDir, "SA_Score"))
    import sascorer

    return sascorer.calculateScore(mol)


def main():
    source, target = sys.argv[1:]
    with open(source) as lines:
        texts = [line.split("\t")[0].strip() for line in lines]
    reference_molecules = [
        value
        for name, value in vars(oracles).items()
        if name.isupper() and isinstance(value, str) and Chem.MolFromSmiles(value)
    ]
    smiles = [
        t
        for t in reference_molecules + texts[::3]
        if t and not t.startswith("#") and (m := Chem.MolFromSmiles(t)) and 5 < m.GetNumHeavyAtoms() < 60
    ]
    cases = [
        {"name": task, "objective": spec, "values": oracles.scores(task, smiles)}
        for task, spec in tasks.COMPOSED.items()
    ]
    for name, (spec, value) in OTHERS.items():
        cases.append({"name": name, "objective": spec, "values": [value(Chem.MolFromSmiles(text)) for text in smiles]})
    with open(target, "w") as out:
        out.write('{"smiles": ' + json.dumps(smiles) + ',\n "cases": [\n')
        out.write(",\n".join("  " + json.dumps(case) for case in cases) + "\n]}\n")
    print(f"{target}: {len(smiles)} molecules, {len(cases)} objectives")


if __name__ == "__main__":
    main()

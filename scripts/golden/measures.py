#!/usr/bin/env python3
"""Writes golden values for the measures of package chem, from Python RDKit (2022.09.3).

    /usr/bin/python3 scripts/golden/measures.py chem/testdata/molecules.smi chem/testdata/measures.jsonl

The first line is the list of measures, each [kind, argument]. Each other line is a molecule with its values in that
order, or null if RDKit has none. Molecules that RDKit refuses are left out. Needs python3-rdkit (Debian 12).
"""

import json
import sys

from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import AllChem, rdMolDescriptors
from rdkit.Chem.Scaffolds import MurckoScaffold

REFERENCES = [
    "COc1cc(N(C)CCN(C)C)c(NC(=O)C=C)cc1Nc2nccc(n2)c3cn(C)c4ccccc34",  # osimertinib
    "CC(C)(C(=O)O)c1ccc(cc1)C(O)CCCN2CCC(CC2)C(O)(c3ccccc3)c4ccccc4",  # fexofenadine
    "CC(=O)Oc1ccccc1C(=O)O",  # aspirin
]
PATTERNS = [
    "[#7]-c1n[c;h1]nc2[c;h1]c(-[#8])[c;h0][c;h1]c12",
    "CS([#6])(=O)=O",
    "[CX3](=O)[OX2H1]",
    "c1ccccc1",
    "[#7;R]~[#6]=O",
    "[NX3;H2,H1;!$(NC=O)]",
]
ELEMENTS = ["C", "H", "F", "N", "Cl"]


def parse(smiles):
    params = Chem.SmilesParserParams()
    params.allowCXSMILES = params.parseName = False
    return Chem.MolFromSmiles(smiles, params)


def prints(mol):
    return {
        "Morgan2Similarity": AllChem.GetMorganFingerprint(mol, 2),
        "Morgan3Similarity": AllChem.GetMorganFingerprint(mol, 3),
        "FeatureSimilarity": AllChem.GetMorganFingerprint(mol, 2, useFeatures=True),
        "PairSimilarity": AllChem.GetAtomPairFingerprint(mol, maxLength=10),
    }


def scaffold(mol):
    return MurckoScaffold.MurckoScaffoldSmiles(mol=mol)


COUNTS = {
    "RingCount": rdMolDescriptors.CalcNumRings,
    "AromaticRingCount": rdMolDescriptors.CalcNumAromaticRings,
    "RotatableBonds": rdMolDescriptors.CalcNumRotatableBonds,
    "HydrogenDonors": rdMolDescriptors.CalcNumHBD,
    "HydrogenAcceptors": rdMolDescriptors.CalcNumHBA,
    "HeavyAtomCount": lambda mol: mol.GetNumHeavyAtoms(),
    "FractionSP3": rdMolDescriptors.CalcFractionCSP3,
    "AtomCount": lambda mol: Chem.AddHs(mol).GetNumAtoms(),
}


def measures():
    """Yields each measure: kind, argument, and its function of a molecule and the molecule's fingerprints."""
    for smiles in REFERENCES:
        reference = parse(smiles)
        for kind, fingerprint in prints(reference).items():
            yield kind, smiles, lambda mol, fp, k=kind, f=fingerprint: DataStructs.TanimotoSimilarity(f, fp[k])
        core = scaffold(reference)
        yield "SameScaffold", smiles, lambda mol, fp, core=core: float(scaffold(mol) == core)
    for smarts in PATTERNS:
        pattern = Chem.MolFromSmarts(smarts)
        yield "Contains", smarts, lambda mol, fp, p=pattern: float(mol.HasSubstructMatch(p))
    for symbol in ELEMENTS:
        yield (
            "ElementCount",
            symbol,
            lambda mol, fp, s=symbol: float(sum(a.GetSymbol() == s for a in Chem.AddHs(mol).GetAtoms())),
        )
    for kind, function in COUNTS.items():
        yield kind, "", lambda mol, fp, f=function: float(f(mol))


def main():
    RDLogger.DisableLog("rdApp.*")
    source, target = sys.argv[1:]
    all_measures = list(measures())
    count = 0
    with open(source) as lines, open(target, "w") as out:
        out.write(json.dumps([[kind, argument] for kind, argument, _ in all_measures]) + "\n")
        for line in lines:
            smiles = line.split("\t")[0].strip()
            mol = parse(smiles) if smiles and not smiles.startswith("#") else None
            if mol is None or mol.GetNumAtoms() == 0:
                continue
            fingerprints = prints(mol)
            out.write(
                json.dumps(
                    {"smiles": smiles, "values": [function(mol, fingerprints) for _, _, function in all_measures]}
                )
                + "\n"
            )
            count += 1
    print(f"{target}: {count} molecules, {len(all_measures)} measures")


if __name__ == "__main__":
    main()

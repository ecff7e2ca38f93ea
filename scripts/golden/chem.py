#!/usr/bin/env python3
"""Writes golden values for package chem from Python RDKit of the version that the package links (2022.09.3).

    python3 scripts/golden/chem.py chem/testdata/molecules.smi chem/testdata/golden.jsonl
    python3 scripts/golden/chem.py --limit 25000 big.smi.gz /tmp/big.jsonl.gz

Input: one SMILES per line (first column), with comments after '#', possibly .gz. Output: one JSON object per line.
"tanimoto" is the similarity to the previous molecule. A molecule that RDKit refuses has "error", the kind of error, and
"atom" if RDKit names one. Needs python3-rdkit and rdkit-data (Debian 12).
"""

import argparse
import gzip
import json
import os
import sys

from rdkit import Chem, DataStructs, RDConfig, RDLogger
from rdkit.Chem import BRICS, QED, Crippen, Descriptors, rdMolDescriptors
from rdkit.Chem.Scaffolds import MurckoScaffold

sys.path.append(os.path.join(RDConfig.RDContribDir, "SA_Score"))
import sascorer  # noqa: E402


def open_text(path, mode):
    return gzip.open(path, mode + "t") if path.endswith(".gz") else open(path, mode)


def parse(smiles, sanitize=True):
    params = Chem.SmilesParserParams()
    params.allowCXSMILES = params.parseName = False
    params.sanitize = params.removeHs = sanitize  # keep hydrogens, so that errors count atoms as written
    return Chem.MolFromSmiles(smiles, params)


def describe_error(smiles):
    """Returns the error of a molecule that MolFromSmiles refuses, from RDKit's sanitisation."""
    mol = parse(smiles, sanitize=False)
    if mol is None:
        return {"error": "syntax"}
    try:
        Chem.SanitizeMol(mol)
    except Chem.AtomValenceException as e:
        return {"error": "valence", "atom": e.cause.GetAtomIdx()}
    except Chem.AtomKekulizeException as e:
        return {"error": "kekulize", "atom": e.cause.GetAtomIdx()}
    except Chem.KekulizeException as e:
        return {"error": "kekulize", "atom": e.cause.GetAtomIndices()[0]}
    except Chem.MolSanitizeException:
        pass
    return {"error": "other"}


def penalties(mol, logp, sa):
    rings = mol.GetRingInfo().AtomRings()
    ring = max([len(r) for r in rings] + [6]) - 6
    norm = (logp - 2.4570953396190123) / 1.434324401111988
    norm += (-sa + 3.0525811293166134) / 0.8335207024513095
    norm += (-ring + 0.0485696876403053) / 0.2860212110245455
    return {"plogp_no_ring": logp - sa, "plogp_raw": logp - sa - ring, "plogp_norm": norm}


def largest_part(mol):
    """Returns the part with the most heavy atoms, then the greatest weight, then the first SMILES in byte order."""
    parts = Chem.GetMolFrags(mol, asMols=True)
    key = [(-p.GetNumHeavyAtoms(), -Descriptors.MolWt(p), Chem.MolToSmiles(p)) for p in parts]
    return min(key)[2]


def describe(smiles, previous):
    """Returns the row and the fingerprint of a molecule; previous: the fingerprint of the molecule before it."""
    mol = parse(smiles)
    if mol is None:
        return {"smiles": smiles, **describe_error(smiles)}, None
    if mol.GetNumAtoms() == 0:
        return {"smiles": smiles, "error": "empty"}, None
    bits = rdMolDescriptors.GetMorganFingerprintAsBitVect(mol, 2, 2048)
    short = rdMolDescriptors.GetMorganFingerprintAsBitVect(mol, 2, 1024)
    row = {
        "smiles": smiles,
        "canonical": Chem.MolToSmiles(mol),
        "flat": Chem.MolToSmiles(mol, isomericSmiles=False),
        "formula": rdMolDescriptors.CalcMolFormula(mol),
        "weight": Descriptors.MolWt(mol),
        "heavy": mol.GetNumHeavyAtoms(),
        "rings": mol.GetRingInfo().NumRings(),
        "logp": Crippen.MolLogP(mol),
        "tpsa": Descriptors.TPSA(mol),
        "qed_properties": list(QED.properties(mol)),
        "qed": QED.qed(mol),
        "bits": list(bits.GetOnBits()),
        "bits1024": list(short.GetOnBits()),
        "brics": [[a, b, la, lb] for (a, b), (la, lb) in BRICS.FindBRICSBonds(mol)],
        "murcko": MurckoScaffold.MurckoScaffoldSmiles(mol=mol),
        "largest": largest_part(mol),
    }
    if previous is not None:
        row["tanimoto"] = DataStructs.TanimotoSimilarity(previous, bits)
    try:
        row["sa"] = sascorer.calculateScore(mol)  # last, because it sets stereo flags of mol
        row.update(penalties(mol, row["logp"], row["sa"]))
    except ZeroDivisionError:  # no fragments, for example a lone hydrogen
        pass
    return row, bits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, help="most molecules to write (default: all)")
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    n, previous = 0, None
    with open_text(args.source, "r") as source, open_text(args.target, "w") as target:
        for line in source:
            smiles = line.split("\t")[0].strip()
            if not smiles or smiles.startswith("#"):
                continue
            if args.limit and n >= args.limit:
                break
            row, bits = describe(smiles, previous)
            previous = bits if bits is not None else previous
            target.write(json.dumps(row) + "\n")
            n += 1
    print(f"{args.target}: {n} molecules")


if __name__ == "__main__":
    main()

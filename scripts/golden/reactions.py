#!/usr/bin/env python3
"""Writes golden precursors for package synthesis, from Python RDKit (2022.09.3).

    /usr/bin/python3 scripts/golden/reactions.py chem/synthesis/templates.tsv chem/testdata/molecules.smi \\
        chem/synthesis/testdata/precursors.jsonl

Each line is a molecule with its sets of precursors: the name of the first reaction that gives a set, and its SMILES.
Molecules of several components, and those that RDKit refuses, are left out. Needs python3-rdkit (Debian 12).
"""

import json
import sys

from rdkit import Chem, RDLogger
from rdkit.Chem import rdChemReactions

MAX_SETS = 64  # of one template


def parse(smiles):
    params = Chem.SmilesParserParams()
    params.allowCXSMILES = params.parseName = False
    mol = Chem.MolFromSmiles(smiles, params)
    if mol is None or mol.GetNumAtoms() == 0:
        return None
    Chem.RemoveStereochemistry(mol)
    for atom in mol.GetAtoms():
        atom.SetAtomMapNum(0)
    return Chem.MolFromSmiles(Chem.MolToSmiles(mol))


def precursor(drawn):
    """Returns the SMILES of a precursor, or None if it is not one stable molecule."""
    mol = Chem.RWMol(drawn)
    for atom in mol.GetAtoms():
        usual = atom.GetAtomicNum() in (6, 7, 8, 16)
        if usual and not atom.GetIsAromatic() and atom.GetFormalCharge() == 0:
            atom.SetNumExplicitHs(0)
            atom.SetNoImplicit(False)
    try:
        Chem.SanitizeMol(mol)
    except Chem.MolSanitizeException:
        return None
    if any(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms()):
        return None
    smiles = Chem.MolToSmiles(mol)
    return None if "." in smiles else smiles


def disconnect(mol, reactions):
    sets = []
    seen = set()
    for name, reaction in reactions:
        for outcome in reaction.RunReactants((mol,), MAX_SETS):
            smiles = [precursor(drawn) for drawn in outcome]
            if None in smiles:
                continue
            key = ".".join(sorted(smiles))
            if key not in seen:
                seen.add(key)
                sets.append([name, *sorted(smiles)])
    return sets


def main():
    templates, molecules, golden = sys.argv[1:]
    RDLogger.DisableLog("rdApp.*")
    with open(templates) as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if not line.startswith("#")]
    reactions = [(name, rdChemReactions.ReactionFromSmarts(smarts)) for name, smarts, _ in rows]
    with open(molecules) as lines, open(golden, "w") as out:
        for line in lines:
            smiles = line.split()[0] if line.strip() else "."
            mol = None if "." in smiles else parse(smiles)
            if mol is None:
                continue
            out.write(json.dumps([smiles, disconnect(mol, reactions)], separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes golden structural alerts for package chem, from the filter catalogs of Python RDKit.

    .venv-tests/bin/python scripts/golden/alerts.py chem/testdata/molecules.smi chem/testdata/alerts.jsonl

Each line is a molecule with the names of its alerts. Molecules that RDKit refuses are left out, and of those without
alerts all but one in four.
"""

import json
import sys

from rdkit import Chem, RDLogger
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams

CATALOGS = {"PAINS": ("PAINS_A", "PAINS_B", "PAINS_C"), "Brenk": ("BRENK",)}
EXAMPLES = [
    "O=C1NC(=S)SC1=Cc1ccccc1",  # a rhodanine
    "CN(C)c1ccc(N=Nc2ccccc2)cc1",  # an azo dye
    "Oc1ccccc1O",  # catechol
    "O=C1C=CC(=O)C=C1",  # quinone
    "CC1=NN(c2ccccc2)C(=O)C1=Cc1ccco1",  # a pyrazolone
    "O=C(C=Cc1ccccc1)c1ccccc1O",  # a Michael acceptor
    "CCOC(=O)c1sc(N)c(C(=O)OCC)c1C",  # an aminothiophene
    "Oc1ccc(CN2CCOCC2)c2cccnc12",  # a Mannich base
    "CCCCCCCCBr",  # an alkyl halide
    "C=CC(=O)Nc1cccc(Nc2ncc(F)c(Nc3ccccc3)n2)c1",  # an acrylamide
]


def catalog(names: tuple[str, ...]) -> FilterCatalog:
    params = FilterCatalogParams()
    for name in names:
        params.AddCatalog(getattr(FilterCatalogParams.FilterCatalogs, name))
    return FilterCatalog(params)


def main() -> None:
    RDLogger.DisableLog("rdApp.*")
    source, target = sys.argv[1:]
    catalogs = {name: catalog(parts) for name, parts in CATALOGS.items()}
    with open(source) as file:
        lines = EXAMPLES + [line.split("\t")[0].strip() for line in file if not line.startswith("#")]
    params = Chem.SmilesParserParams()
    params.allowCXSMILES = params.parseName = False
    clean = count = 0
    with open(target, "w") as out:
        for smiles in lines:
            mol = Chem.MolFromSmiles(smiles, params) if smiles else None
            if mol is None or mol.GetNumAtoms() == 0:
                continue
            alerts = [f"{name} {entry.GetDescription()}" for name, c in catalogs.items() for entry in c.GetMatches(mol)]
            clean += not alerts
            if alerts or clean % 4 == 0:
                out.write(json.dumps({"smiles": smiles, "alerts": alerts}) + "\n")
                count += 1
    print(f"{target}: {count} molecules")


if __name__ == "__main__":
    main()

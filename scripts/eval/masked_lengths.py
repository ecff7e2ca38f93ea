"""Measures the length of the filling of masks by the masked-template API, through HTTP:

    python -m scripts.eval.masked_lengths --url http://127.0.0.1:8002

The templates are `[*{n-n}]`, alone and beside given fragments. A mask stands for a token of published SAFE models, so
lengths are in their tokens: atoms, bonds, branches, ring numbers, a dot between two pieces cut at BRICS bonds, and a
number on both sides of each cut. The filling is the molecule without the given fragments, with a number for each bond
to them. Needs the environment of training, for the cuts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import urllib.request

from rdkit import Chem

from scripts.train.masked import safe

MASKS = (5, 8, 10, 15, 20, 30, 40, 50, 60)
FRAGMENTS = {
    "alone": "",
    "beside benzene": "[*]c1ccccc1",
    "beside a piperazine": "[*]N1CCN(C)CC1",
    "between two": "[*]c1ccncc1.[*]C(=O)NC1CC1",
}

BOND = "[13CH3]"
"""A methyl in place of the number of a bond to a given fragment."""


def length(smiles: str) -> int:
    """Returns the number of published tokens of a molecule."""
    text = ".".join(map(_numbered, safe.encode(smiles).split(".")))
    return len(safe.split(text)) + text.count(".") - text.startswith(".")


def _numbered(piece: str) -> str:
    """Returns a piece with stars in place of the methyls of bonds, behind their atoms as in SAFE."""
    if BOND not in piece:
        return piece
    molecule = Chem.RWMol(Chem.MolFromSmiles(piece.replace("*", "").strip("=#"), sanitize=False))
    bonds = [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetIsotope()]
    for atom in sorted(bonds, reverse=True):
        molecule.RemoveAtom(atom)
    return Chem.MolToSmiles(molecule, canonical=False) + "*" * (piece.count("*") + len(bonds))


def locate(
    molecule: Chem.Mol, fragments: list[str], taken: frozenset[int] = frozenset()
) -> list[frozenset[int]] | None:
    """Returns the atoms of each given fragment in a molecule, or None.

    They are disjoint, and each fragment has as many bonds to other atoms as it has open positions.
    """
    if not fragments:
        return []
    query = Chem.MolFromSmiles(fragments[0].replace("[*]", ""))
    for match in map(frozenset, molecule.GetSubstructMatches(query, uniquify=True, maxMatches=1000)):
        out = [
            bond for bond in molecule.GetBonds() if (bond.GetBeginAtomIdx() in match) != (bond.GetEndAtomIdx() in match)
        ]
        if not match & taken and len(out) == fragments[0].count("[*]"):
            others = locate(molecule, fragments[1:], taken | match)
            if others is not None:
                return [match, *others]
    return None


def filling_length(smiles: str, fragments: str) -> int | None:
    """Returns the published tokens of a molecule without the given fragments, or None if these are not found."""
    molecule = Chem.MolFromSmiles(smiles)
    found = locate(molecule, fragments.split(".") if fragments else [])
    if found is None:
        return None
    given = frozenset().union(*found)
    filling = Chem.RWMol(molecule)
    for bond in molecule.GetBonds():
        ends = (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
        inner = [atom for atom in ends if atom not in given]
        if len(inner) == 1:
            filling.AddBond(inner[0], filling.AddAtom(Chem.AtomFromSmiles(BOND)), bond.GetBondType())
    for atom in sorted(given, reverse=True):
        filling.RemoveAtom(atom)
    if filling.GetNumAtoms() == 0 or Chem.SanitizeMol(filling, catchErrors=True):
        return None
    return length(Chem.MolToSmiles(filling))


def filling_lengths(url: str, fragments: str, masks: int, count: int, seed: int, quality: bool) -> list[int]:
    """Returns the lengths of the fillings in the answer to a template, where the fragments are found."""
    template = ".".join(part for part in (fragments, f"[*{{{masks}-{masks}}}]") if part)
    body = {"smiles": template, "num_molecules": count, "seed": seed, "quality": quality}
    request = urllib.request.Request(
        url.rstrip("/") + "/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        molecules = json.load(answer)["molecules"]
    lengths = [filling_length(m["smiles"], fragments) for m in molecules]
    return [length for length in lengths if length is not None]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.masked_lengths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", default="http://127.0.0.1:8002", help="base address of the API")
    parser.add_argument("--count", type=int, default=100, help="molecules of a template")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without a request for quality")
    options = parser.parse_args()
    print("| masks | " + " | ".join(FRAGMENTS) + " |")
    print("|---" * (len(FRAGMENTS) + 1) + "|")
    for masks in MASKS:
        cells = []
        for fragments in FRAGMENTS.values():
            lengths = filling_lengths(options.url, fragments, masks, options.count, options.seed, not options.plain)
            cells.append(
                f"{statistics.fmean(lengths):.1f} ± {statistics.pstdev(lengths):.1f} ({len(lengths)})"
                if lengths
                else "none"
            )
        print(f"| {masks} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

"""How long what the masked-template API fills in is, through HTTP, beside what was asked for:

    python -m scripts.eval.masked_lengths --url http://127.0.0.1:8002

Templates `[*{n-n}]` alone and beside given fragments. A mask is a token of published SAFE models, so the length of a
molecule is counted in their tokens: atoms, bonds, branches, ring numbers, a dot between two pieces cut at BRICS
bonds, and a number on both sides of each cut. What is filled in is what is left of the molecule without the given
fragments, with a number for each bond to them. Needs the environment of training for the cuts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import urllib.request

from rdkit import Chem

from scripts.train.masked import safe

ASKED = (5, 8, 10, 15, 20, 30, 40, 50, 60)
FRAGMENTS = {
    "alone": "",
    "beside benzene": "[*]c1ccccc1",
    "beside a piperazine": "[*]N1CCN(C)CC1",
    "between two": "[*]c1ccncc1.[*]C(=O)NC1CC1",
}

BOND = "[13CH3]"
"""A methyl that stands for the number of a bond to a given fragment."""


def length(smiles: str) -> int:
    """Published tokens of a molecule."""
    text = ".".join(map(_numbered, safe.encode(smiles).split(".")))
    return len(safe.split(text)) + text.count(".") - text.startswith(".")


def _numbered(piece: str) -> str:
    """A piece with numbers, written as stars, in place of the methyls that stand for them: behind their atoms, as
    SAFE's own writer does."""
    if BOND not in piece:
        return piece
    molecule = Chem.RWMol(Chem.MolFromSmiles(piece.replace("*", "").strip("=#"), sanitize=False))
    bonds = [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetIsotope()]
    for atom in sorted(bonds, reverse=True):
        molecule.RemoveAtom(atom)
    return Chem.MolToSmiles(molecule, canonical=False) + "*" * (piece.count("*") + len(bonds))


def places(
    molecule: Chem.Mol, fragments: list[str], taken: frozenset[int] = frozenset()
) -> list[frozenset[int]] | None:
    """The atoms of each given fragment in a molecule: disjoint, and bonded to the rest by as many bonds as it has
    open positions."""
    if not fragments:
        return []
    query = Chem.MolFromSmiles(fragments[0].replace("[*]", ""))
    for match in map(frozenset, molecule.GetSubstructMatches(query, uniquify=True, maxMatches=1000)):
        out = [
            bond for bond in molecule.GetBonds() if (bond.GetBeginAtomIdx() in match) != (bond.GetEndAtomIdx() in match)
        ]
        if not match & taken and len(out) == fragments[0].count("[*]"):
            others = places(molecule, fragments[1:], taken | match)
            if others is not None:
                return [match, *others]
    return None


def added(smiles: str, fragments: str) -> int | None:
    """Published tokens of a molecule without the given fragments; None where they cannot be told apart from the
    rest."""
    molecule = Chem.MolFromSmiles(smiles)
    found = places(molecule, fragments.split(".") if fragments else [])
    if found is None:
        return None
    given = frozenset().union(*found)
    rest = Chem.RWMol(molecule)
    for bond in molecule.GetBonds():
        ends = (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
        inner = [atom for atom in ends if atom not in given]
        if len(inner) == 1:
            rest.AddBond(inner[0], rest.AddAtom(Chem.AtomFromSmiles(BOND)), bond.GetBondType())
    for atom in sorted(given, reverse=True):
        rest.RemoveAtom(atom)
    if rest.GetNumAtoms() == 0 or Chem.SanitizeMol(rest, catchErrors=True):
        return None
    return length(Chem.MolToSmiles(rest))


def filled(url: str, fragments: str, masks: int, count: int, seed: int, quality: bool) -> list[int]:
    """The lengths of what was filled in, of the molecules in which that can be told."""
    template = ".".join(part for part in (fragments, f"[*{{{masks}-{masks}}}]") if part)
    body = {"smiles": template, "num_molecules": count, "seed": seed, "quality": quality}
    request = urllib.request.Request(
        url.rstrip("/") + "/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as answer:
        molecules = json.load(answer)["molecules"]
    lengths = [added(m["smiles"], fragments) for m in molecules]
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
    parser.add_argument("--plain", action="store_true", help="do not ask for quality")
    options = parser.parse_args()
    print("| masks | " + " | ".join(FRAGMENTS) + " |")
    print("|---" * (len(FRAGMENTS) + 1) + "|")
    for masks in ASKED:
        cells = []
        for fragments in FRAGMENTS.values():
            lengths = filled(options.url, fragments, masks, options.count, options.seed, not options.plain)
            cells.append(
                f"{statistics.fmean(lengths):.1f} ± {statistics.pstdev(lengths):.1f} ({len(lengths)})"
                if lengths
                else "none"
            )
        print(f"| {masks} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

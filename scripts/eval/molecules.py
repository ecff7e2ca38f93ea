"""Computes scores of molecules with Python RDKit, to check those of a service."""

from __future__ import annotations

from collections.abc import Callable

from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, Crippen, rdFingerprintGenerator
from rdkit.Contrib.SA_Score import sascorer

RDLogger.DisableLog("rdApp.*")
MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048, includeChirality=False)


def canonical(smiles: str, stereo: bool = True) -> str | None:
    """Returns RDKit's canonical SMILES, or None for a text that is no molecule."""
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    return Chem.MolToSmiles(molecule, isomericSmiles=stereo) if molecule is not None else None


def qed(molecule: Chem.Mol) -> float:
    """Returns the quantitative estimate of drug-likeness, 0 to 1."""
    return QED.qed(molecule)


def penalized_logp(molecule: Chem.Mol) -> float:
    """Returns logP - SA - ring, each standardised on ZINC250k as published with GCPN.

    ring is the number of atoms above 6 of the largest ring.
    """
    ring = max((len(r) for r in molecule.GetRingInfo().AtomRings()), default=0)
    return (
        (Crippen.MolLogP(molecule) - 2.4570953396190123) / 1.434324401111988
        + (3.0525811293166134 - sascorer.calculateScore(molecule)) / 0.8335207024513095
        + (0.0485696876403053 - max(0, ring - 6)) / 0.2860212110245455
    )


def compared(start: str, found: list[dict], score: Callable[[Chem.Mol], float]) -> dict:
    """Returns scores of the start and of the first molecule of an answer, computed here.

    disagreement is the larger difference from the service's score and similarity.
    """
    origin = Chem.MolFromSmiles(start)
    row = {"found": False, "start_score": score(origin)}
    if not found:
        return row
    best = found[0]
    molecule = Chem.MolFromSmiles(best["smiles"])
    value, similarity = score(molecule), similar(molecule, origin)
    return {
        **row,
        "found": True,
        "smiles": best["smiles"],
        "score": value,
        "similarity": similarity,
        "disagreement": max(abs(value - best["score"]), abs(similarity - best["similarity"])),
    }


def similar(a: Chem.Mol, b: Chem.Mol) -> float:
    """Returns the Tanimoto similarity of Morgan fingerprints."""
    return DataStructs.TanimotoSimilarity(MORGAN.GetFingerprint(a), MORGAN.GetFingerprint(b))

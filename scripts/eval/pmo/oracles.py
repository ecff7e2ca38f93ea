"""The 20 oracles of PMO that need only RDKit, as in the Therapeutics Data Commons (tdc/chem_utils/oracle/oracle.py).

The file imports nothing of this repository, because the Triton model beside it (model.py) imports it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache

from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, Crippen, GraphDescriptors, rdFingerprintGenerator, rdMolDescriptors
from rdkit.Chem.Pharm2D import Generate, Gobbi_Pharm2D

RDLogger.DisableLog("rdApp.*")

Score = Callable[[Chem.Mol], float]

FINGERPRINTS = {
    "ECFP4": rdFingerprintGenerator.GetMorganGenerator(radius=2),
    "ECFP6": rdFingerprintGenerator.GetMorganGenerator(radius=3),
    "FCFP4": rdFingerprintGenerator.GetMorganGenerator(
        radius=2, atomInvariantsGenerator=rdFingerprintGenerator.GetMorganFeatureAtomInvGen()
    ),
    "AP": rdFingerprintGenerator.GetAtomPairGenerator(minDistance=1, maxDistance=10),
}

CAMPHOR, MENTHOL = "CC1(C)C2CCC1(C)C(=O)C2", "CC(C)C1CCC(C)CC1O"
TADALAFIL = "O=C1N(CC(N2C1CC3=C(C2C4=CC5=C(OCO5)C=C4)NC6=C3C=CC=C6)=O)C"
SILDENAFIL = "CCCC1=NN(C2=C1N=C(NC2=O)C3=C(C=CC(=C3)S(=O)(=O)N4CCN(CC4)C)OCC)C"
CELECOXIB = "CC1=CC=C(C=C1)C1=CC(=NN1C1=CC=C(C=C1)S(N)(=O)=O)C(F)(F)F"
TROGLITAZONE = "Cc1c(C)c2OC(C)(COc3ccc(CC4SC(=O)NC4=O)cc3)CCc2c(C)c1O"
THIOTHIXENE = "CN(C)S(=O)(=O)c1ccc2Sc3ccccc3C(=CCCN4CCN(C)CC4)c2c1"
ALBUTEROL = "CC(C)(C)NCC(O)c1ccc(O)c(CO)c1"
MESTRANOL = "COc1ccc2[C@H]3CC[C@@]4(C)[C@@H](CC[C@@]4(O)C#C)[C@@H]3CCc2c1"
OSIMERTINIB = "COc1cc(N(C)CCN(C)C)c(NC(=O)C=C)cc1Nc2nccc(n2)c3cn(C)c4ccccc34"
FEXOFENADINE = "CC(C)(C(=O)O)c1ccc(cc1)C(O)CCCN2CCC(CC2)C(O)(c3ccccc3)c4ccccc4"
RANOLAZINE = "COc1ccccc1OCC(O)CN2CCN(CC(=O)Nc3c(C)cccc3C)CC2"
PERINDOPRIL = "O=C(OCC)C(NC(C(=O)N1C(C(=O)O)CC2CCCCC12)C)CCC"
AMLODIPINE = r"Clc1ccccc1C2C(=C(/N/C(=C2/C(=O)OCC)COCCN)C)\C(=O)OC"
SITAGLIPTIN = "Fc1cc(c(F)cc1F)CC(N)CC(=O)N3Cc2nnc(n2CC3)C(F)(F)F"
ZALEPLON = "O=C(C)N(CC)C1=CC=CC(C2=CC=NC3=C(C=NN23)C#N)=C1"
HOP_PHARMACOPHORE = "CCCOc1cc2ncnc(Nc3ccc4ncsc4c3)c2cc1S(=O)(=O)C(C)(C)C"
HOP_SCAFFOLD = "[#7]-c1n[c;h1]nc2[c;h1]c(-[#8])[c;h0][c;h1]c12"
HOP_SULFONE, HOP_AMINE = "CS([#6])(=O)=O", "[#7]-c1ccc2ncsc2c1"
HOP_DECORATION = "[#6]-[#6]-[#6]-[#8]-[#6]~[#6]~[#6]~[#6]~[#6]-[#7]-c1ccc2ncsc2c1"
VALSARTAN = "CN(C=O)Cc1ccc(c2ccccc2)cc1"


def similarity(smiles: str, kind: str) -> Score:
    """Returns the Tanimoto similarity of count fingerprints to a molecule."""
    generator = FINGERPRINTS[kind]
    target = generator.GetSparseCountFingerprint(Chem.MolFromSmiles(smiles))
    return lambda mol: DataStructs.TanimotoSimilarity(target, generator.GetSparseCountFingerprint(mol))


def contains(smarts: str, expected: bool = True) -> Score:
    """Returns 1 if a molecule contains a pattern, or does not if `expected` is false, else 0."""
    pattern = Chem.MolFromSmarts(smarts)
    return lambda mol: float(mol.HasSubstructMatch(pattern) == expected)


def pharmacophores(smiles: str) -> Score:
    """Returns the Tanimoto similarity of Gobbi's 2D pharmacophores to a molecule."""
    target = Generate.Gen2DFingerprint(Chem.MolFromSmiles(smiles), Gobbi_Pharm2D.factory)
    return lambda mol: DataStructs.TanimotoSimilarity(target, Generate.Gen2DFingerprint(mol, Gobbi_Pharm2D.factory))


def gaussian(value: Score, mu: float, sigma: float, side: int = 0) -> Score:
    """Returns a Gaussian of a value around mu. With side 1 it is 1 above mu, with side -1 below mu."""

    def score(mol: Chem.Mol) -> float:
        x = value(mol)
        x = min(x, mu) if side > 0 else max(x, mu) if side < 0 else x
        return math.exp(-0.5 * ((x - mu) / sigma) ** 2)

    return score


def clipped(value: Score, upper: float) -> Score:
    """Returns a value over upper, clipped to 0 and 1."""
    return lambda mol: min(max(value(mol) / upper, 0.0), 1.0)


def geometric(*scores: Score) -> Score:
    """Returns the geometric mean, or 0 if a score is not positive."""

    def mean(mol: Chem.Mol) -> float:
        values = [score(mol) for score in scores]
        return math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else 0.0

    return mean


def arithmetic(*scores: Score) -> Score:
    """Returns the arithmetic mean."""
    return lambda mol: sum(score(mol) for score in scores) / len(scores)


def atoms(symbol: str) -> Score:
    """Returns the number of atoms of an element, implicit hydrogens included."""
    return lambda mol: float(
        sum(a.GetSymbol() == symbol for a in (Chem.AddHs(mol) if symbol == "H" else mol).GetAtoms())
    )


def isomer(formula: str) -> Score:
    """Returns the similarity to a formula: a Gaussian for each element and one for the number of all atoms."""
    counts = [(symbol, int(number or 1)) for symbol, number in re.findall(r"([A-Z][a-z]*)(\d*)", formula)]
    total: Score = lambda mol: float(Chem.AddHs(mol).GetNumAtoms())  # noqa: E731
    return geometric(
        *(gaussian(atoms(symbol), number, 1) for symbol, number in counts),
        gaussian(total, sum(n for _, n in counts), 2),
    )


def of_molecule(smiles: str, value: Score) -> float:
    """Returns a value of a molecule."""
    return value(Chem.MolFromSmiles(smiles))


TPSA: Score = rdMolDescriptors.CalcTPSA
LOGP: Score = Crippen.MolLogP

MAKERS: dict[str, Callable[[], Score]] = {
    "albuterol_similarity": lambda: clipped(similarity(ALBUTEROL, "FCFP4"), 0.75),
    "amlodipine_mpo": lambda: geometric(
        similarity(AMLODIPINE, "ECFP4"), gaussian(rdMolDescriptors.CalcNumRings, 3, 0.5)
    ),
    "celecoxib_rediscovery": lambda: similarity(CELECOXIB, "ECFP4"),
    "deco_hop": lambda: arithmetic(
        clipped(pharmacophores(HOP_PHARMACOPHORE), 0.85),
        contains(HOP_SULFONE, False),
        contains(HOP_AMINE, False),
        contains(HOP_SCAFFOLD),
    ),
    "fexofenadine_mpo": lambda: geometric(
        gaussian(TPSA, 90, 10, 1), gaussian(LOGP, 4, 1, -1), clipped(similarity(FEXOFENADINE, "AP"), 0.8)
    ),
    "isomers_c7h8n2o2": lambda: isomer("C7H8N2O2"),
    "isomers_c9h10n2o2pf2cl": lambda: isomer("C9H10N2O2PF2Cl"),
    "median1": lambda: geometric(similarity(CAMPHOR, "ECFP4"), similarity(MENTHOL, "ECFP4")),
    "median2": lambda: geometric(similarity(TADALAFIL, "ECFP6"), similarity(SILDENAFIL, "ECFP6")),
    "mestranol_similarity": lambda: clipped(similarity(MESTRANOL, "AP"), 0.75),
    "osimertinib_mpo": lambda: geometric(
        gaussian(TPSA, 100, 10, 1),
        gaussian(LOGP, 1, 1, -1),
        clipped(similarity(OSIMERTINIB, "FCFP4"), 0.8),
        gaussian(similarity(OSIMERTINIB, "ECFP6"), 0.85, 0.1, -1),
    ),
    "perindopril_mpo": lambda: geometric(
        similarity(PERINDOPRIL, "ECFP4"), gaussian(rdMolDescriptors.CalcNumAromaticRings, 2, 0.5)
    ),
    "qed": lambda: QED.qed,
    "ranolazine_mpo": lambda: geometric(
        gaussian(TPSA, 95, 20, 1),
        gaussian(LOGP, 7, 1, 1),
        clipped(similarity(RANOLAZINE, "AP"), 0.7),
        gaussian(atoms("F"), 1, 1),
    ),
    "scaffold_hop": lambda: arithmetic(
        clipped(pharmacophores(HOP_PHARMACOPHORE), 0.75), contains(HOP_DECORATION), contains(HOP_SCAFFOLD, False)
    ),
    "sitagliptin_mpo": lambda: geometric(
        gaussian(similarity(SITAGLIPTIN, "ECFP4"), 0, 0.1),
        gaussian(LOGP, of_molecule(SITAGLIPTIN, LOGP), 0.2),
        gaussian(TPSA, of_molecule(SITAGLIPTIN, TPSA), 5),
        isomer("C16H15F6N5O"),
    ),
    "thiothixene_rediscovery": lambda: similarity(THIOTHIXENE, "ECFP4"),
    "troglitazone_rediscovery": lambda: similarity(TROGLITAZONE, "ECFP4"),
    "valsartan_smarts": lambda: geometric(
        contains(VALSARTAN),
        gaussian(TPSA, of_molecule(SITAGLIPTIN, TPSA), 5),
        gaussian(LOGP, of_molecule(SITAGLIPTIN, LOGP), 0.2),
        gaussian(GraphDescriptors.BertzCT, of_molecule(SITAGLIPTIN, GraphDescriptors.BertzCT), 30),
    ),
    "zaleplon_mpo": lambda: geometric(similarity(ZALEPLON, "ECFP4"), isomer("C19H17N3O2")),
}
TASKS = sorted(MAKERS)


@cache
def oracle(task: str) -> Score:
    """Returns the oracle of a task."""
    return MAKERS[task]()


def scores(task: str, smiles: Sequence[str]) -> list[float]:
    """Returns the score of each molecule, NaN for a text that is no molecule."""
    score = oracle(task)
    molecules = [Chem.MolFromSmiles(text) for text in smiles]
    return [math.nan if mol is None else float(score(mol)) for mol in molecules]

"""Twenty everyday molecules and measures by RDKit for Python, for tests that detect a broken model."""

from __future__ import annotations

from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, rdFingerprintGenerator
from rdkit.Chem.Draw import rdMolDraw2D

RDLogger.DisableLog("rdApp.*")  # invalid molecules are counted, not logged

MOLECULES = {
    "caffeine": "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "ibuprofen": "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
    "procaine": "CCN(CC)CCOC(=O)c1ccc(N)cc1",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "phenacetin": "CCOc1ccc(NC(C)=O)cc1",
    "naproxen": "COc1ccc2cc(C(C)C(=O)O)ccc2c1",
    "nicotine": "CN1CCCC1c1cccnc1",
    "melatonin": "COc1ccc2[nH]cc(CCNC(C)=O)c2c1",
    "DEET": "CCN(CC)C(=O)c1cccc(C)c1",
    "vanillin": "COc1cc(C=O)ccc1O",
    "benzocaine": "CCOC(=O)c1ccc(N)cc1",
    "carbamazepine": "NC(=O)N1c2ccccc2C=Cc2ccccc21",
    "theophylline": "Cn1c(=O)c2[nH]cnc2n(C)c1=O",
    "propranolol": "CC(C)NCC(O)COc1cccc2ccccc12",
    "moclobemide": "O=C(NCCN1CCOCC1)c1ccc(Cl)cc1",
    "haloperidol": "O=C(CCCN1CCC(O)(c2ccc(Cl)cc2)CC1)c1ccc(F)cc1",
    "fluoxetine": "CNCCC(Oc1ccc(C(F)(F)F)cc1)c1ccccc1",
    "celecoxib": "Cc1ccc(-c2cc(C(F)(F)F)nn2-c2ccc(S(N)(=O)=O)cc2)cc1",
}

_fingerprints = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def canonical(smiles: str) -> str:
    """The canonical SMILES of a molecule; "" if the text is not a molecule."""
    molecule = Chem.MolFromSmiles(smiles)
    return Chem.MolToSmiles(molecule) if molecule else ""


def qed(smiles: str) -> float:
    return QED.qed(Chem.MolFromSmiles(smiles))


def similarity(a: str, b: str) -> float:
    """Tanimoto similarity of Morgan fingerprints, radius 2, 2048 bits."""
    return DataStructs.TanimotoSimilarity(*(_fingerprints.GetFingerprint(Chem.MolFromSmiles(s)) for s in (a, b)))


def holds(smiles: str, part: str) -> bool:
    """Reports whether the molecule has the substructure `part`, a SMARTS."""
    return Chem.MolFromSmiles(smiles).HasSubstructMatch(Chem.MolFromSmarts(part))


def drawn(smiles: str) -> bytes:
    """A PNG of the molecule in RDKit's default style, without metadata."""
    drawer = rdMolDraw2D.MolDraw2DCairo(400, 300)
    drawer.drawOptions().includeMetadata = False
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, Chem.MolFromSmiles(smiles))
    drawer.FinishDrawing()
    return drawer.GetDrawingText()

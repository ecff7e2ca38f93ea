"""The molecules to draw: mostly medicinal chemistry, with the rare kinds often enough to be learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from scripts.train.latent.corpus import read_file
from scripts.train.vision.marks import is_end

FILES = {
    "zinc250k_train.smi.gz": 0.17,
    "chembl_train.smi.gz": 0.36,
    "chebi_train.smi.gz": 0.17,
    "chembl_salts.smi.gz": 0.06,
}
"""Share of the molecules by file. The others, RARE_SHARE, have one of RARE, or are cages or tiny."""
RARE_SHARE = 0.24
RARE = """
    [S-] [N-] [n-] [NH3+] [NH2+] [N+] [n+] [nH+] [O-] I P Br S # B [Si [Se [B- [S+ [P [2H] @@ /C= [C-] [As [Sn [Na+]
    [K+] Cl. .[ .O [Te C12 C23
""".split()
"""Parts of SMILES that are seldom drawn."""
CAGE_WEIGHT, TINY_WEIGHT = 3, 2
"""How often cages and tiny molecules are drawn, where each of RARE counts once."""
CAGE_SAMPLE = 60_000
"""Molecules that are searched for cages."""
MAX_ATOMS = 60
"""The most heavy atoms, approximately: three letters of SMILES count as one."""
SMALLEST_SHARE = 0.02
"""Share of RDKit's drawings with one or two heavy atoms, which the files seldom have."""
VALENCES = {"C": 4, "N": 3, "O": 2, "S": 2, "F": 1, "Cl": 1, "Br": 1, "I": 1, "P": 3, "B": 3, "Si": 4, "Se": 2}
"""By element of the smallest molecules."""
REAGENT_SHARE = 0.05
"""Share of the molecules with one of REAGENTS."""
REAGENTS = """
    B1OC(C)(C)C(C)(C)O1 B1OC(C)(C)C(C)(C)O1 B(O)O [B-](F)(F)F B(OC)OC [Sn](C)(C)C [Sn](CCCC)(CCCC)CCCC
    [Sn](CCCC)(CCCC)CCCC [Sn](CC)(CC)CC [Sn](Cl)(CCCC)CCCC [Sn](c1ccccc1)(c1ccccc1)c1ccccc1 [Sn](C)(C)[Sn](C)(C)C I=O
    I(=O)=O I(OC(C)=O)OC(C)=O I(Cl)Cl [I+]c1ccccc1 OI(O)c1ccccc1 I1OC(=O)c2ccccc21 I1OC(C)(C)c2ccccc21
    I1(=O)OC(=O)c2ccccc21 OI(OC(C)=O)c1ccccc1 I(O)OS(C)(=O)=O OI1(OC(C)=O)(OC(C)=O)OC(=O)c2ccccc21 [Si](C)(C)C
    [Si](C)(C)C(C)(C)C [Si](CC)(CC)CC [Si](OCC)(OCC)OCC [Si](Cl)(C)C [SiH](C)C P(c1ccccc1)c1ccccc1 P(=O)(OCC)OCC P(C)C
    P(=O)(Cl)Cl P(=S)(OC)OC [P+](c1ccccc1)(c1ccccc1)c1ccccc1 [P+](C)(C)C [N+](C)(C)C [N+](CC)(CC)CC [n+]1ccccc1
    [S+](C)C [S+](C)(C)=O C(Cl)=O S(=O)(=O)Cl S(=O)(=O)F S(F)(F)F N(CC)S(F)(F)F S(F)(F)(F)(F)F SC(F)(F)F NO ON OO
    OOC(C)(C)C N=[N+]=[N-] [N+]#N C=[N+]=[N-] N=C=O N=C=S [N+]#[C-] OC#N SC#N N(F)S(C)(=O)=O C=[N+](C)C [Se]C
    [Se]c1ccccc1 [Se]Cl [Te]C [As](C)C [Ge](C)(C)C [Hg]Cl [Mg]Br [Li] [Zn]Cl
""".split()
"""Groups of synthetic reagents, which the files seldom or never have; the first atom replaces an end of a molecule.
Metals that the reader does not know get the unknown label."""
ANIONS = """
    [Cl-] [Br-] [Br-] [I-] [I-] F[P-](F)(F)(F)(F)F F[P-](F)(F)(F)(F)F F[B-](F)(F)F F[B-](F)(F)F O=S(=O)([O-])C(F)(F)F
""".split()
"""Counterions of molecules with a positive charge."""


@dataclass
class Corpus:
    """SMILES by file with their share, and SMILES with something rare by kind."""

    files: list[tuple[float, list[str]]]
    rare: list[list[str]]
    reagents: float = 0.0
    """Share of the molecules with one of REAGENTS."""

    def draw(self, random: Random) -> str:
        """Returns a random molecule."""
        smiles = self._sample(random)
        return with_reagent(smiles, random) if self.reagents and random.random() < self.reagents else smiles

    def _sample(self, random: Random) -> str:
        chance = random.random()
        for share, molecules in self.files:
            if chance < share:
                return random.choice(molecules)
            chance -= share
        return random.choice(random.choice(self.rare))


def load(data: Path, shares: dict[str, float]) -> Corpus:
    """Reads files of the data folder, each with its share. Exits if one cannot be read or has no molecule to draw."""
    files = []
    for name, share in shares.items():
        fitting = [smiles for smiles in read_file(data, name) if len(smiles) < 3 * MAX_ATOMS]
        if not fitting:
            raise SystemExit(f"training: {name} has no molecule of at most {MAX_ATOMS} heavy atoms")
        files.append((share / sum(shares.values()) * (1 - RARE_SHARE), fitting))
    molecules = [smiles for _, chosen in files for smiles in chosen]
    rare = [found for text in RARE if (found := [smiles for smiles in molecules if text in smiles])]
    sample = Random(0).sample(molecules, min(CAGE_SAMPLE, len(molecules)))
    cages = [smiles for smiles in sample if is_caged(smiles)]
    tiny = [smiles for smiles in molecules if len(smiles) < 8]
    rare += CAGE_WEIGHT * [cages] if cages else []
    rare += TINY_WEIGHT * [tiny] if tiny else []
    return Corpus(files, rare or [molecules], REAGENT_SHARE)


def with_reagent(smiles: str, random: Random) -> str:
    """Returns the molecule with one of REAGENTS in place of an end; unchanged if it has no end."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        return smiles
    ends = [a for a in molecule.GetAtoms() if is_end(a) and a.GetNeighbors()[0].GetSymbol() == "C"]
    if not ends:
        return smiles
    end = random.choice(ends)
    out = Chem.RWMol(Chem.CombineMols(molecule, Chem.MolFromSmiles(random.choice(REAGENTS), sanitize=False)))
    out.AddBond(end.GetNeighbors()[0].GetIdx(), molecule.GetNumAtoms(), Chem.BondType.SINGLE)
    out.RemoveAtom(end.GetIdx())
    try:
        Chem.SanitizeMol(out)
    except ValueError:
        return smiles
    return Chem.MolToSmiles(out) + (f".{random.choice(ANIONS)}" if Chem.GetFormalCharge(out) > 0 else "")


def smallest_molecule(random: Random) -> str:
    """Returns a molecule of one or two heavy atoms, mostly carbon, nitrogen and oxygen."""
    first, second = (Chem.Atom(random.choice(["C", "C", "N", "O", random.choice(list(VALENCES))])) for _ in range(2))
    molecule = Chem.RWMol()
    molecule.AddAtom(first)
    if random.random() < 0.6:
        molecule.AddAtom(second)
        max_order = min(3, VALENCES[first.GetSymbol()], VALENCES[second.GetSymbol()])
        types = [Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE]
        molecule.AddBond(0, 1, random.choice(types[:max_order]))
    out = molecule.GetMol()
    Chem.SanitizeMol(out)
    return Chem.MolToSmiles(out)


def is_caged(smiles: str) -> bool:
    """Reports whether rings share more than a bond, as in morphine and adamantane."""
    if smiles.count("1") + smiles.count("2") < 4:
        return False
    molecule = Chem.MolFromSmiles(smiles)
    return molecule is not None and rdMolDescriptors.CalcNumBridgeheadAtoms(molecule) > 1

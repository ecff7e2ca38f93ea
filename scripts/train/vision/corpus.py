"""The molecules to draw: mostly those of medicinal chemistry, and the rare kinds often enough to be learnt."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from scripts.train.vision.abbreviated import is_end

FILES = {
    "zinc250k_train.smi.gz": 0.17,
    "broad_train.smi.gz": 0.36,
    "everyday_train.smi": 0.17,
    "broad_salts.smi.gz": 0.06,
}
"""Part of the drawings from each file; the rest are molecules with something rare."""
RARE = (
    "[S-]",
    "[N-]",
    "[n-]",
    "[NH3+]",
    "[NH2+]",
    "[N+]",
    "[n+]",
    "[nH+]",
    "[O-]",
    "I",
    "P",
    "Br",
    "S",
    "#",
    "B",
    "[Si",
    "[Se",
    "[B-",
    "[S+",
    "[P",
    "[2H]",
    "@@",
    "/C=",
    "[C-]",
    "[As",
    "[Sn",
    "[Na+]",
    "[K+]",
    "Cl.",
    ".[",
    ".O",
    "[Te",
    "C12",
    "C23",
)
"""Strings in SMILES of what is seldom drawn."""
CAGES, TINY = 3, 2
"""How often cages and the smallest molecules are among the rare kinds, where each of RARE is there once."""
LOOKED_AT = 60_000
"""Molecules among which cages are looked for."""
LARGEST = 60
"""Most heavy atoms, about."""
SMALLEST_PART = 0.02
"""Of the molecules that RDKit draws: of one or two heavy atoms, of which the files have few."""
VALENCES = {"C": 4, "N": 3, "O": 2, "S": 2, "F": 1, "Cl": 1, "Br": 1, "I": 1, "P": 3, "B": 3, "Si": 4, "Se": 2}
"""And their valences."""
REAGENT_PART = 0.05
"""Of the molecules: with a group that makes them a chemist's reagent, which the files have seldom or never."""
REAGENTS = (
    "B1OC(C)(C)C(C)(C)O1",
    "B1OC(C)(C)C(C)(C)O1",
    "B(O)O",
    "[B-](F)(F)F",
    "B(OC)OC",
    "[Sn](C)(C)C",
    "[Sn](CCCC)(CCCC)CCCC",
    "[Sn](CCCC)(CCCC)CCCC",
    "[Sn](CC)(CC)CC",
    "[Sn](Cl)(CCCC)CCCC",
    "[Sn](c1ccccc1)(c1ccccc1)c1ccccc1",
    "[Sn](C)(C)[Sn](C)(C)C",
    "I=O",
    "I(=O)=O",
    "I(OC(C)=O)OC(C)=O",
    "I(Cl)Cl",
    "[I+]c1ccccc1",
    "OI(O)c1ccccc1",
    "I1OC(=O)c2ccccc21",
    "I1OC(C)(C)c2ccccc21",
    "I1(=O)OC(=O)c2ccccc21",
    "OI(OC(C)=O)c1ccccc1",
    "I(O)OS(C)(=O)=O",
    "OI1(OC(C)=O)(OC(C)=O)OC(=O)c2ccccc21",
    "[Si](C)(C)C",
    "[Si](C)(C)C(C)(C)C",
    "[Si](CC)(CC)CC",
    "[Si](OCC)(OCC)OCC",
    "[Si](Cl)(C)C",
    "[SiH](C)C",
    "P(c1ccccc1)c1ccccc1",
    "P(=O)(OCC)OCC",
    "P(C)C",
    "P(=O)(Cl)Cl",
    "P(=S)(OC)OC",
    "[P+](c1ccccc1)(c1ccccc1)c1ccccc1",
    "[P+](C)(C)C",
    "[N+](C)(C)C",
    "[N+](CC)(CC)CC",
    "[n+]1ccccc1",
    "[S+](C)C",
    "[S+](C)(C)=O",
    "C(Cl)=O",
    "S(=O)(=O)Cl",
    "S(=O)(=O)F",
    "S(F)(F)F",
    "N(CC)S(F)(F)F",
    "S(F)(F)(F)(F)F",
    "SC(F)(F)F",
    "NO",
    "ON",
    "OO",
    "OOC(C)(C)C",
    "N=[N+]=[N-]",
    "[N+]#N",
    "C=[N+]=[N-]",
    "N=C=O",
    "N=C=S",
    "[N+]#[C-]",
    "OC#N",
    "SC#N",
    "N(F)S(C)(=O)=O",
    "C=[N+](C)C",
    "[Se]C",
    "[Se]c1ccccc1",
    "[Se]Cl",
    "[Te]C",
    "[As](C)C",
    "[Ge](C)(C)C",
    "[Hg]Cl",
    "[Mg]Br",
    "[Li]",
    "[Zn]Cl",
)
"""What takes the place of an end of a molecule, by its first atom. Metals that the reader does not know are drawn, and said to be unknown."""
ANIONS = (
    "[Cl-]",
    "[Br-]",
    "[Br-]",
    "[I-]",
    "[I-]",
    "F[P-](F)(F)(F)(F)F",
    "F[P-](F)(F)(F)(F)F",
    "F[B-](F)(F)F",
    "F[B-](F)(F)F",
    "O=S(=O)([O-])C(F)(F)F",
)
"""Beside one that has a charge."""


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [line.split()[0] for line in file if line.strip()]


@dataclass
class Corpus:
    """SMILES by file, and those with something rare by what it is."""

    files: list[tuple[float, list[str]]]
    rare: list[list[str]]
    reagents: float = 0.0
    """Part of the molecules that get one of REAGENTS."""

    def draw(self, random: Random) -> str:
        """A molecule."""
        smiles = self._drawn(random)
        return reagent(smiles, random) if self.reagents and random.random() < self.reagents else smiles

    def _drawn(self, random: Random) -> str:
        chance = random.random()
        for part, molecules in self.files:
            if chance < part:
                return random.choice(molecules)
            chance -= part
        return random.choice(random.choice(self.rare))


def molecules(data: Path) -> Corpus:
    """Of the data folder."""
    files = [(part, [s for s in read(Path(data) / name) if len(s) < 3 * LARGEST]) for name, part in FILES.items()]
    everything = [s for _, some in files for s in some]
    rare = [found for text in RARE if (found := [s for s in everything if text in s])]
    some = Random(0).sample(everything, min(LOOKED_AT, len(everything)))
    cages = [s for s in some if caged(s)]
    tiny = [s for s in everything if len(s) < 8]
    rare += CAGES * [cages] if cages else []
    rare += TINY * [tiny] if tiny else []
    return Corpus(files, rare, REAGENT_PART)


def reagent(smiles: str, random: Random) -> str:
    """A molecule with one of REAGENTS in place of an end; the molecule itself where it has no end."""
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


def smallest(random: Random) -> str:
    """A molecule of one heavy atom or of two, most often of carbon, nitrogen and oxygen."""
    first, second = (Chem.Atom(random.choice(["C", "C", "N", "O", random.choice(list(VALENCES))])) for _ in range(2))
    molecule = Chem.RWMol()
    molecule.AddAtom(first)
    if random.random() < 0.6:
        molecule.AddAtom(second)
        most = min(3, VALENCES[first.GetSymbol()], VALENCES[second.GetSymbol()])
        molecule.AddBond(0, 1, random.choice([Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE][:most]))
    out = molecule.GetMol()
    Chem.SanitizeMol(out)
    return Chem.MolToSmiles(out)


def caged(smiles: str) -> bool:
    """Whether rings share more than a bond, as in morphine and adamantane."""
    if smiles.count("1") + smiles.count("2") < 4:
        return False
    molecule = Chem.MolFromSmiles(smiles)
    return molecule is not None and rdMolDescriptors.CalcNumBridgeheadAtoms(molecule) > 1

"""Puts abbreviations, and labels that no reader can know, into molecules before they are drawn."""

from __future__ import annotations

from random import Random

from rdkit import Chem

from scripts.train.vision import reader_path  # noqa: F401  (first: it finds marks)

from marks import GROUPS, SHOWN, UNKNOWN  # isort: skip

SHORT = "_short"
"""The property of an atom that stands for a group: its name in marks.GROUPS, or UNKNOWN."""
PART = 0.3
"""Of the drawings that have abbreviations."""
STRANGE_PART = 0.12
"""Of the drawings that have a label which is unknown."""
LABELS = ("*", "*", "R", "R", "R1", "R2", "R3", "R'", "X", "Y", "Ar", "Z", "A", "Q", "L", "M", "Fmoc", "PMB", "Pol", "Nu", "Pd", "Pt", "Fe", "Sn", "Hg", "Cu",
          "Ru", "Ir", "Pb", "Co", "Ni", "Mn", "Cr", "Ti", "Au", "Rh", "Sb", "Bi", "SnBu3", "HgCl", "13C", "13CH3", "15N", "18F",
          "Alk", "Het", "Gal", "Ala", "Gly", "DNA")


def _patterns() -> list[tuple[str, Chem.Mol, int]]:
    """Name, pattern and number of atoms of the groups, the largest first. The pattern's last atom is the one the group hangs on."""
    out = []
    for name, text in GROUPS.items():
        group = Chem.MolFromSmiles(text)
        count = group.GetNumAtoms()
        if name != "OCH2Ph":  # As OBn.
            out.append((name, _pattern(group), count))
    return sorted(out, key=lambda one: -one[2])


def _pattern(group: Chem.Mol) -> Chem.Mol:
    """Each atom with its element, charge and number of bonds, the first one bond more, to any atom."""
    pattern = Chem.RWMol()
    for atom in group.GetAtoms():
        degree = atom.GetDegree() + (atom.GetIdx() == 0)
        hydrogens = max(0, atom.GetTotalNumHs() - (atom.GetIdx() == 0))
        symbol = f"#{atom.GetAtomicNum()}"
        pattern.AddAtom(Chem.AtomFromSmarts(f"[{symbol}{atom.GetFormalCharge():+d}D{degree}h{hydrogens}]"))
    for bond in group.GetBonds():
        pattern.AddBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType())
    pattern.AddAtom(Chem.AtomFromSmarts("[#6,#7,#8,#16,#15,#14]"))
    pattern.AddBond(0, group.GetNumAtoms(), Chem.BondType.SINGLE)
    return pattern.GetMol()


PATTERNS = _patterns()


def shortened(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule, now and then with abbreviations in place of some of its groups, or with an unknown label."""
    chance = random.random()
    if chance < STRANGE_PART:
        return _estranged(molecule, random)
    if chance > STRANGE_PART + PART:
        return molecule
    out = Chem.RWMol(molecule)
    keep = random.choice([0.4, 0.8, 1.0])
    gone: set[int] = set()
    for name, pattern, count in PATTERNS:
        if random.random() > keep:
            continue
        for match in molecule.GetSubstructMatches(pattern, maxMatches=8):
            if molecule.GetNumAtoms() - len(gone) - count < 3 or gone & set(match) or _shared(out, match):
                continue
            _condense(out, match[0], name)
            gone.update(match[1:count])
    for number in sorted(gone, reverse=True):
        out.RemoveAtom(number)
    return out.GetMol()


def _shared(molecule: Chem.Mol, match: tuple[int, ...]) -> bool:
    """Whether an atom of the match stands for a group already, or a stereocentre would lose a neighbour's name."""
    return any(molecule.GetAtomWithIdx(a).HasProp(SHORT) for a in match)


def _condense(molecule: Chem.RWMol, at: int, name: str) -> None:
    atom = molecule.GetAtomWithIdx(at)
    right, left = SHOWN.get(name, (name, name))[:2]
    stand_in = Chem.Atom(0)
    stand_in.SetNoImplicit(True)
    stand_in.SetProp(SHORT, name)
    stand_in.SetProp("_displayLabel", _marked_up(right))
    stand_in.SetProp("_displayLabelW", _marked_up(left))
    molecule.ReplaceAtom(atom.GetIdx(), stand_in, preserveProps=False)


def _marked_up(text: str) -> str:
    """Digits as subscripts, a sign as a superscript."""
    out = "".join(f"<sub>{c}</sub>" if c.isdigit() else f"<sup>{c}</sup>" if c in "+-" else c for c in text)
    return out


def _estranged(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """One atom outside of rings with a label that the reader cannot know."""
    ends = [a.GetIdx() for a in molecule.GetAtoms() if a.GetDegree() == 1 or (a.GetDegree() == 2 and not a.IsInRing() and random.random() < 0.3)]
    if not ends or molecule.GetNumAtoms() < 4:
        return molecule
    out = Chem.RWMol(molecule)
    stand_in = Chem.Atom(0)
    stand_in.SetNoImplicit(True)
    label = random.choice(LABELS)
    stand_in.SetProp(SHORT, UNKNOWN)
    stand_in.SetProp("_displayLabel", label)
    stand_in.SetProp("_displayLabelW", label)
    out.ReplaceAtom(random.choice(ends), stand_in, preserveProps=False)
    return out.GetMol()

"""Puts abbreviations, and labels that no reader can know, into molecules before they are drawn."""

from __future__ import annotations

import re
from random import Random

from rdkit import Chem

from scripts.served_reader.labels import ATOM_LABELS, GROUPS, LINKS, SPELLINGS, UNKNOWN_LABEL

SHORT = "_short"
"""The property of an atom that stands for a group: its name in labels.GROUPS, or UNKNOWN_LABEL."""
PART = 0.3
"""Of the drawings that have abbreviations."""
LEARNT_PART = 0.5
"""The same of those to learn from."""
GRAFTED_PART = 0.85
"""Of those: with groups in place of ends."""
GRAFTS = (1, 1, 2, 3)
"""How many groups these get."""
LINKED_PART = 0.5
"""Of the drawings to learn from that have abbreviations: with groups in the place of links."""
LINKED_NMES = [("NMe", "MeN"), ("NCH<sub>3</sub>", "H<sub>3</sub>CN")]
"""How NMe is written where it is a link."""
STRANGE_PART = 0.3
"""Of the drawings that have a label which is unknown."""
LABELS = (
    *6 * ("*",),
    *4 * ("R",),
    "R1",
    "R2",
    "R3",
    "R'",
    "X",
    "Y",
    "Ar",
    "Z",
    "A",
    "Q",
    "L",
    "M",
    "Fmoc",
    "Pol",
    "Nu",
    "Pd",
    "Pt",
    "Fe",
    "Hg",
    "Cu",
    "Ru",
    "Ir",
    "Pb",
    "Co",
    "Ni",
    "Mn",
    "Cr",
    "Ti",
    "Au",
    "Rh",
    "Sb",
    "Bi",
    "HgCl",
    "13C",
    "13CH3",
    "15N",
    "18F",
    "Alk",
    "Het",
    "Gal",
    "Ala",
    "Gly",
    "DNA",
)
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SMALL = "abcdefghijklmnopqrstuvwxyz"
WRITTEN = frozenset(
    (
        *ATOM_LABELS,
        *(text for shown in SPELLINGS.values() for text in shown),
        *"CH CH2 CH3 CI NH2 H2N HO HN HS H3C H2C".split(),
    )
)
"""What is never taken for unknown letters."""
METALS = (
    "Li",
    "Na",
    "K",
    "Mg",
    "Ca",
    "Ba",
    "Al",
    "Ga",
    "In",
    "Tl",
    "Pb",
    "Sb",
    "Bi",
    "Ti",
    "Zr",
    "V",
    "Cr",
    "Mo",
    "W",
    "Mn",
    "Re",
    "Fe",
    "Ru",
    "Os",
    "Co",
    "Rh",
    "Ir",
    "Ni",
    "Pd",
    "Pt",
    "Cu",
    "Ag",
    "Au",
    "Zn",
    "Cd",
    "Hg",
    "La",
    "Ce",
    "Sm",
    "Gd",
    "U",
    "Xe",
    "At",
    "Po",
)
ISOTOPES = {
    "C": (11, 13, 13, 14),
    "N": (13, 15, 15),
    "O": (15, 17, 18, 18),
    "F": (18,),
    "S": (34, 35),
    "P": (32, 33),
    "Cl": (36, 37),
    "Br": (76, 77, 82),
    "I": (123, 124, 125, 131),
    "Se": (75,),
}
ISOTOPE_PART = 0.15
"""Of the drawings that have something unknown: an isotope, drawn as the program draws it."""
METAL_PART = 0.15
"""Of the same: a metal in the place of an atom."""
COMPLEX_PART = 0.2
"""Of the same: a metal with pieces of the molecule around it."""
NEIGHBOURS = (1, 1, 2, 2, 3, 4)
"""How many a metal has."""
PIECE_PART = 0.4
"""Of the same but those: in a piece of the molecule. Where it is small, letters are small beside the bonds."""
CUTS = (1, 2, 3, 5)
"""How many bonds are cut for a piece."""
LIGAND_CUTS = 6
"""And for those around a metal."""
LARGEST_LIGAND = 9
"""Most atoms of a piece around a metal, but for hydrogens."""
TWICE_PART = 0.2
"""Of the drawings that have unknown letters: at two places."""
SPELLED_PART = 0.12
"""Of the drawings to learn from: with letters at carbons where chemists mostly leave them out, as in older patents."""
HYDROGENS_PART = 0.06
"""The same: with hydrogens at lines of their own at one to three atoms."""
CUT = "_cut"
"""The property of an atom that has lost a bond."""


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


def condensed(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule, now and then with abbreviations in place of some of its groups."""
    return grouped(molecule, random) if random.random() < PART else molecule


def shortened(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """For training: as condensed, but often another molecule, with groups that it does not have, or with what no reader can know."""
    if random.random() < HYDROGENS_PART:
        molecule = with_hydrogens(molecule, random)
    if random.random() < SPELLED_PART:
        molecule = spelled(molecule, random)
    chance = random.random()
    if chance < STRANGE_PART:
        return estranged(molecule, random)
    if chance > STRANGE_PART + LEARNT_PART:
        return molecule
    out = Chem.RWMol(grouped(molecule, random))
    if random.random() < GRAFTED_PART:
        for _ in range(random.choice(GRAFTS)):
            _graft(out, random)
    if random.random() < LINKED_PART:
        for _ in range(random.choice((1, 1, 2))):
            _link(out, random)
    return out.GetMol()


def grouped(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule with abbreviations in place of some of its groups, or all of them."""
    out = Chem.RWMol(molecule)
    keep = random.choice([0.4, 0.8, 1.0])
    gone: set[int] = set()
    for name, pattern, count in PATTERNS:
        if random.random() > keep:
            continue
        for match in molecule.GetSubstructMatches(pattern, maxMatches=8):
            if molecule.GetNumAtoms() - len(gone) - count < 3 or gone & set(match) or _shared(out, match):
                continue
            _condense(out, match[0], name, random)
            gone.update(match[1:count])
    for number in sorted(gone, reverse=True):
        out.RemoveAtom(number)
    return out.GetMol()


def with_hydrogens(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule with the hydrogens of one to three atoms drawn as atoms, most often of those that have one."""
    bearing = [a for a in molecule.GetAtoms() if a.GetTotalNumHs() and not a.HasProp(SHORT)]
    few = [a for a in bearing if a.GetTotalNumHs() == 1 and not a.GetIsAromatic()]
    chosen = few if few and random.random() < 0.8 else bearing
    atoms = [a.GetIdx() for a in random.sample(chosen, min(random.choice([1, 1, 2, 3]), len(chosen)))]
    return Chem.AddHs(molecule, onlyOnAtoms=atoms) if atoms else molecule


def spelled(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule with C, CH, CH2 and CH3 written at some of its carbons, or at all of them but aromatic ones."""
    out = Chem.RWMol(molecule)
    share = random.choice([0.15, 0.4, 1.0])
    for atom in out.GetAtoms():
        plain = atom.GetSymbol() == "C" and not atom.GetFormalCharge() and not atom.GetIsotope()
        if plain and random.random() < share * (0.1 if atom.GetIsAromatic() else 1):
            hydrogens = atom.GetTotalNumHs()
            written = "H" * bool(hydrogens) + (f"<sub>{hydrogens}</sub>" if hydrogens > 1 else "")
            atom.SetProp("_displayLabel", "C" + written)
            atom.SetProp("_displayLabelW", written + "C" if random.random() < 0.8 else "C" + written)
    return out.GetMol()


def _graft(molecule: Chem.RWMol, random: Random) -> None:
    """Puts any group in place of an end: the rare ones are rare in molecules, not in what is drawn."""
    ends = [a.GetIdx() for a in molecule.GetAtoms() if is_end(a) and not a.HasProp(SHORT)]
    if ends:
        _condense(molecule, random.choice(ends), random.choice(list(GROUPS)), random)


def _link(molecule: Chem.RWMol, random: Random) -> None:
    """Puts any group that joins two lines in place of a link."""
    links = [a.GetIdx() for a in molecule.GetAtoms() if is_link(a) and not a.HasProp(SHORT)]
    if links:
        name = random.choice(["SO2", "CO", "NBoc", "NMe", *LINKS])
        stand_in(molecule, random.choice(links), name, *random.choice(link_ways(name)))


def is_end(atom: Chem.Atom) -> bool:
    """Whether an atom hangs on one other, by a single bond."""
    return atom.GetDegree() == 1 and atom.GetBonds()[0].GetBondType() == Chem.BondType.SINGLE


def is_link(atom: Chem.Atom) -> bool:
    """Whether an atom joins two others, by single bonds."""
    return atom.GetDegree() == 2 and all(b.GetBondType() == Chem.BondType.SINGLE for b in atom.GetBonds())


def link_ways(name: str) -> list[tuple[str, str]]:
    """As ways, of a group that joins two lines."""
    return LINKED_NMES if name == "NMe" else ways(name)


def _shared(molecule: Chem.Mol, match: tuple[int, ...]) -> bool:
    """Whether an atom of the match stands for a group already, or a stereocentre would lose a neighbour's name."""
    return any(molecule.GetAtomWithIdx(a).HasProp(SHORT) for a in match)


def ways(name: str) -> list[tuple[str, str]]:
    """How a group is written to the right and to the left of its line, as stand_in draws it."""
    shown = [marked_up(text) for text in SPELLINGS.get(name, (name, name))]
    return list(zip(shown[::2], shown[1::2], strict=True))


def _condense(molecule: Chem.RWMol, at: int, name: str, random: Random) -> None:
    stand_in(molecule, at, name, *random.choice(ways(name)))


def marked_up(text: str) -> str:
    """Digits as subscripts, a sign at an end as a superscript."""
    marked = "".join(f"<sub>{c}</sub>" if c.isdigit() else c for c in text)
    return re.sub(r"^[+-]|[+-]$", r"<sup>\g<0></sup>", marked)


def estranged(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule, or pieces of it, with what the reader cannot know: an isotope, a metal, or letters in place of an end or of a link."""
    way = random.random()
    if way < COMPLEX_PART:
        return _complex(molecule, random)
    if random.random() < PIECE_PART:
        large = [p for p in pieces(molecule, random.choice(CUTS), random) if p.GetNumAtoms() > 2]
        molecule = random.choice(large or [molecule])
    if molecule.GetNumAtoms() < 3:
        return molecule
    if way < COMPLEX_PART + ISOTOPE_PART:
        return _isotopic(molecule, random)
    if way < COMPLEX_PART + ISOTOPE_PART + METAL_PART:
        return _metallic(molecule, random)
    return _lettered(molecule, random)


def alien(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """The molecule, now and then with a metal or an isotope, for programs that draw no labels but those of atoms."""
    if molecule.GetNumAtoms() < 3 or random.random() > STRANGE_PART:
        return molecule
    way = random.random() * (COMPLEX_PART + ISOTOPE_PART + METAL_PART)
    if way < COMPLEX_PART:
        return _complex(molecule, random)
    return _isotopic(molecule, random) if way < COMPLEX_PART + ISOTOPE_PART else _metallic(molecule, random)


def pieces(molecule: Chem.Mol, cuts: int, random: Random) -> list[Chem.Mol]:
    """What is left of a molecule after cuts, where it has so many single bonds outside of rings, with hydrogens at the ends."""
    single = [b for b in molecule.GetBonds() if not b.IsInRing() and b.GetBondType() == Chem.BondType.SINGLE]
    ends = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in random.sample(single, min(cuts, len(single)))]
    out = Chem.RWMol(molecule)
    for pair in ends:
        out.RemoveBond(*pair)
        for number in pair:
            atom = out.GetAtomWithIdx(number)
            atom.SetBoolProp(CUT, True)
            _hydrogens(atom, 1)
            _forget_arrangement(atom)
    return list(Chem.GetMolFrags(out, asMols=True))


def _hydrogens(atom: Chem.Atom, more: int) -> None:
    """Gives an atom more where RDKit does not count them by its bonds, or takes them away."""
    if atom.GetNoImplicit() or (atom.GetIsAromatic() and atom.GetSymbol() != "C"):
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() + more)


def _forget_arrangement(atom: Chem.Atom) -> None:
    """Of the atom, and of the double bonds at it."""
    atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    for bond in atom.GetBonds():
        bond.SetStereo(Chem.BondStereo.STEREONONE)


def _lettered(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Letters that nobody knows in place of one end or link, or two."""
    places = [
        a.GetIdx()
        for a in molecule.GetAtoms()
        if a.GetDegree() == 1 or (a.GetDegree() == 2 and not a.IsInRing() and random.random() < 0.3)
    ]
    out = Chem.RWMol(molecule)
    for at in random.sample(places, min(1 + (random.random() < TWICE_PART), len(places))):
        label = random.choice(LABELS) if random.random() < 0.5 else _letters(random)
        stand_in(out, at, UNKNOWN_LABEL, label, label)
    return out.GetMol()


def _isotopic(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    out = Chem.RWMol(molecule)
    marked = [a for a in out.GetAtoms() if a.GetSymbol() in ISOTOPES]
    if marked:
        atom = random.choice(marked)
        atom.SetIsotope(random.choice(ISOTOPES[atom.GetSymbol()]))
    return out.GetMol()


def _metallic(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """An atom of at most four neighbours, most often an end, becomes a metal."""
    out = Chem.RWMol(molecule)
    wanted = random.choice(NEIGHBOURS)
    fitting = [a.GetIdx() for a in out.GetAtoms() if a.GetDegree() == wanted and not a.GetIsAromatic()]
    if fitting:
        at = random.choice(fitting)
        out.ReplaceAtom(at, _metal(wanted, random))
        for bond in out.GetAtomWithIdx(at).GetBonds():
            bond.SetBondType(Chem.BondType.SINGLE)
            _forget_arrangement(bond.GetOtherAtom(out.GetAtomWithIdx(at)))
        out.UpdatePropertyCache()
    return out.GetMol()


def _complex(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """A metal with one to four small pieces of the molecule around it, half the time all the same; the molecule where it has none."""
    ligands = [
        p
        for p in pieces(molecule, LIGAND_CUTS, random)
        if p.GetNumAtoms() <= LARGEST_LIGAND and any(a.HasProp(CUT) for a in p.GetAtoms())
    ]
    if not ligands:
        return molecule
    wanted = random.choice(NEIGHBOURS)
    chosen = random.choices(ligands, k=wanted) if random.random() < 0.5 else wanted * [random.choice(ligands)]
    out = Chem.RWMol()
    out.AddAtom(_metal(wanted, random))
    for ligand in chosen:
        first = out.GetNumAtoms()
        out.InsertMol(ligand)
        atom = next(a for a in list(out.GetAtoms())[first:] if a.HasProp(CUT))
        _hydrogens(atom, -1)
        out.AddBond(0, atom.GetIdx(), Chem.BondType.SINGLE)
    Chem.SanitizeMol(out)
    return out.GetMol()


def _metal(neighbours: int, random: Random) -> Chem.Atom:
    """One that RDKit allows so many."""
    table = Chem.GetPeriodicTable()
    atom = Chem.Atom(
        random.choice([m for m in METALS if -1 in table.GetValenceList(m) or neighbours in table.GetValenceList(m)])
    )
    atom.SetNoImplicit(True)
    return atom


def stand_in(molecule: Chem.RWMol, at: int, name: str, right: str, left: str) -> None:
    """An atom of no element in place of another, with the labels that are drawn to the right and to the left of its bond."""
    atom = Chem.Atom(0)
    atom.SetNoImplicit(True)
    atom.SetProp(SHORT, name)
    atom.SetProp("_displayLabel", right)
    atom.SetProp("_displayLabelW", left)
    molecule.ReplaceAtom(at, atom, preserveProps=False)


def _letters(random: Random) -> str:
    """A label nobody has heard of: one to four letters, with digits, a prime or a sign now and then. None that the reader knows."""
    while True:
        text = random.choice(CAPITALS)
        for _ in range(random.choice([0, 1, 1, 2, 3])):
            text += random.choice(SMALL if random.random() < 0.7 else CAPITALS)
        chance = random.random()
        if chance < 0.15:
            text += random.choice("123456789")
        elif chance < 0.2:
            text += "'"
        if text not in WRITTEN:
            return text

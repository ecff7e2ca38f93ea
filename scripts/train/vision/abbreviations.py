"""Changes molecules before they are drawn: abbreviations, labels that no reader can know, spelled-out atoms,
fragments."""

from __future__ import annotations

import re
from random import Random

from rdkit import Chem

from scripts.served_reader.labels import DETECTED_LABELS, GROUPS, LINKS, SPELLINGS, UNKNOWN_LABEL
from scripts.train.vision.marks import DRAWN_LABEL, is_end, put_label
from scripts.train.vision.placeholders import add_placeholders, is_known

CUT = "_cut"
"""Property of an atom that has lost a bond."""

ABBREVIATED_SHARE = 0.3
"""Share of the drawings with abbreviations."""
TRAINING_ABBREVIATED_SHARE = 0.5
"""The same in training."""
GRAFTED_SHARE = 0.85
"""Share of the abbreviated training drawings with further groups in place of ends."""
GRAFTS = (1, 1, 2, 3)
"""Numbers of those groups."""
LINKED_SHARE = 0.5
"""Share of the abbreviated training drawings with further groups inside chains."""
LINKED_NME = [("NMe", "MeN"), ("NCH<sub>3</sub>", "H<sub>3</sub>CN")]
"""Spellings of NMe inside a chain."""
UNKNOWN_SHARE = 0.3
"""Share of the drawings with an unknown label."""
COMPLEX_SHARE = 0.2
"""Share of those with a metal and fragments of the molecule around it."""
ISOTOPE_SHARE = 0.15
"""Share of those with an isotope, drawn as the program draws it."""
METAL_SHARE = 0.15
"""Share of those with a metal in place of an atom."""
FRAGMENT_SHARE = 0.4
"""Share of those without a complex that are cut to a fragment. In a small molecule, letters are small beside the
bonds."""
CUTS = (1, 2, 3, 5)
"""Numbers of bonds that are cut for a fragment."""
TWO_UNKNOWN_SHARE = 0.2
"""Share of the drawings with unknown letters that have two of them."""
METAL_DEGREES = (1, 1, 2, 2, 3, 4)
"""Numbers of neighbours of a metal."""
LIGAND_CUTS = 6
"""Bonds that are cut for the ligands of a metal."""
MAX_LIGAND_ATOMS = 9
"""The most heavy atoms of a ligand."""
SPELLED_SHARE = 0.12
"""Share of the training drawings with letters at carbons, as in older patents."""
HYDROGENS_SHARE = 0.06
"""Share of the training drawings with bonds to hydrogens at one to three atoms."""

RARE_LETTERS = """
    R1 R2 R3 R' X Y Ar Z A Q L M Fmoc Pol Nu Pd Pt Fe Hg Cu Ru Ir Pb Co Ni Mn Cr Ti Au Rh Sb Bi HgCl 13C 13CH3 15N 18F
    Alk Het Gal Ala Gly DNA
""".split()
STRANGE_LETTERS = [*6 * ["*"], *4 * ["R"], *RARE_LETTERS]
"""Letters that the atom detector does not know: placeholders, metals, names."""
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SMALL = "abcdefghijklmnopqrstuvwxyz"
KNOWN_SPELLINGS = frozenset(
    (
        *DETECTED_LABELS,
        *(text for spellings in SPELLINGS.values() for text in spellings),
        *"CH CH2 CH3 CI NH2 H2N HO HN HS H3C H2C".split(),
    )
)
"""Letters that are never strange."""
METALS = """
    Li Na K Mg Ca Ba Al Ga In Tl Pb Sb Bi Ti Zr V Cr Mo W Mn Re Fe Ru Os Co Rh Ir Ni Pd Pt Cu Ag Au Zn Cd Hg La Ce Sm
    Gd U Xe At Po
""".split()
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


def _group_patterns() -> list[tuple[str, Chem.Mol, int]]:
    """Returns abbreviation, pattern and number of atoms of the groups, the largest first."""
    out = []
    for name, smiles in GROUPS.items():
        group = Chem.MolFromSmiles(smiles)
        if name != "OCH2Ph":  # The same as OBn.
            out.append((name, _pattern(group), group.GetNumAtoms()))
    return sorted(out, key=lambda each: -each[2])


def _pattern(group: Chem.Mol) -> Chem.Mol:
    """Returns a pattern of the group's atoms, with element, charge, hydrogens and number of bonds, and of the atom that
    it hangs on, the last one."""
    pattern = Chem.RWMol()
    for atom in group.GetAtoms():
        is_first = atom.GetIdx() == 0
        degree = atom.GetDegree() + is_first
        hydrogens = max(0, atom.GetTotalNumHs() - is_first)
        smarts = f"[#{atom.GetAtomicNum()}{atom.GetFormalCharge():+d}D{degree}h{hydrogens}]"
        pattern.AddAtom(Chem.AtomFromSmarts(smarts))
    for bond in group.GetBonds():
        pattern.AddBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), bond.GetBondType())
    pattern.AddAtom(Chem.AtomFromSmarts("[#6,#7,#8,#16,#15,#14]"))
    pattern.AddBond(0, group.GetNumAtoms(), Chem.BondType.SINGLE)
    return pattern.GetMol()


PATTERNS = _group_patterns()


def abbreviate_sometimes(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Abbreviates some groups of ABBREVIATED_SHARE of the molecules."""
    return abbreviate(molecule, random) if random.random() < ABBREVIATED_SHARE else molecule


def alter_for_training(
    molecule: Chem.Mol, random: Random, with_placeholders: float = 0.0, wavy: bool = True
) -> Chem.Mol:
    """Changes a molecule in all the ways of this module: often to another one, with groups that it does not have.

    with_placeholders: share of the molecules that get placeholders (add_placeholders) instead.
    """
    if with_placeholders and random.random() < with_placeholders:
        if random.random() < ABBREVIATED_SHARE:
            molecule = abbreviate(molecule, random)
        return add_placeholders(molecule, random, wavy)
    if random.random() < HYDROGENS_SHARE:
        molecule = show_hydrogens(molecule, random)
    if random.random() < SPELLED_SHARE:
        molecule = spell_out_carbons(molecule, random)
    chance = random.random()
    if chance < UNKNOWN_SHARE:
        return add_unknown(molecule, random)
    if chance > UNKNOWN_SHARE + TRAINING_ABBREVIATED_SHARE:
        return molecule
    out = Chem.RWMol(abbreviate(molecule, random))
    if random.random() < GRAFTED_SHARE:
        for _ in range(random.choice(GRAFTS)):
            _graft(out, random)
    if random.random() < LINKED_SHARE:
        for _ in range(random.choice((1, 1, 2))):
            _insert_link(out, random)
    return out.GetMol()


def abbreviate(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Replaces some of the molecule's groups by abbreviations, or all of them."""
    out = Chem.RWMol(molecule)
    share = random.choice([0.4, 0.8, 1.0])
    removed: set[int] = set()
    for name, pattern, count in PATTERNS:
        if random.random() > share:
            continue
        for match in molecule.GetSubstructMatches(pattern, maxMatches=8):
            too_few = molecule.GetNumAtoms() - len(removed) - count < 3
            if too_few or removed & set(match) or any(out.GetAtomWithIdx(a).HasProp(DRAWN_LABEL) for a in match):
                continue
            _abbreviate_at(out, match[0], name, random)
            removed.update(match[1:count])
    for number in sorted(removed, reverse=True):
        out.RemoveAtom(number)
    return out.GetMol()


def show_hydrogens(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Draws the hydrogens of one to three atoms as atoms, mostly of atoms with one hydrogen."""
    bearing = [a for a in molecule.GetAtoms() if a.GetTotalNumHs() and not a.HasProp(DRAWN_LABEL)]
    single = [a for a in bearing if a.GetTotalNumHs() == 1 and not a.GetIsAromatic()]
    candidates = single if single and random.random() < 0.8 else bearing
    count = min(random.choice([1, 1, 2, 3]), len(candidates))
    atoms = [a.GetIdx() for a in random.sample(candidates, count)]
    return Chem.AddHs(molecule, onlyOnAtoms=atoms) if atoms else molecule


def spell_out_carbons(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Writes C, CH, CH2 and CH3 at some of the molecule's carbons, or at all but aromatic ones."""
    out = Chem.RWMol(molecule)
    share = random.choice([0.15, 0.4, 1.0])
    for atom in out.GetAtoms():
        is_plain = atom.GetSymbol() == "C" and not atom.GetFormalCharge() and not atom.GetIsotope()
        if is_plain and random.random() < share * (0.1 if atom.GetIsAromatic() else 1):
            count = atom.GetTotalNumHs()
            hydrogens = "H" * bool(count) + (f"<sub>{count}</sub>" if count > 1 else "")
            atom.SetProp("_displayLabel", "C" + hydrogens)
            atom.SetProp("_displayLabelW", hydrogens + "C" if random.random() < 0.8 else "C" + hydrogens)
    return out.GetMol()


def _graft(molecule: Chem.RWMol, random: Random) -> None:
    """Replaces an end by any group: groups that are rare in molecules are then not rare in drawings."""
    ends = [a.GetIdx() for a in molecule.GetAtoms() if is_end(a) and not a.HasProp(DRAWN_LABEL)]
    if ends:
        _abbreviate_at(molecule, random.choice(ends), random.choice(list(GROUPS)), random)


def put_random_group(molecule: Chem.RWMol, at: int, random: Random) -> None:
    """Replaces an atom with one bond by any group."""
    _abbreviate_at(molecule, at, random.choice(list(GROUPS)), random)


def _insert_link(molecule: Chem.RWMol, random: Random) -> None:
    """Replaces an atom inside a chain by any group with two bonds."""
    links = [a.GetIdx() for a in molecule.GetAtoms() if is_link(a) and not a.HasProp(DRAWN_LABEL)]
    if links:
        name = random.choice(["SO2", "CO", "NBoc", "NMe", *LINKS])
        put_label(molecule, random.choice(links), name, *random.choice(link_spellings(name)))


def is_link(atom: Chem.Atom) -> bool:
    """Reports whether an atom has two bonds, both single."""
    return atom.GetDegree() == 2 and all(b.GetBondType() == Chem.BondType.SINGLE for b in atom.GetBonds())


def spellings(name: str) -> list[tuple[str, str]]:
    """Returns the markup of a group's spellings, to the right and to the left of its bond."""
    texts = [markup(text) for text in SPELLINGS.get(name, (name, name))]
    return list(zip(texts[::2], texts[1::2], strict=True))


def link_spellings(name: str) -> list[tuple[str, str]]:
    """Returns the markup of the spellings of a group with two bonds."""
    return LINKED_NME if name == "NMe" else spellings(name)


def _abbreviate_at(molecule: Chem.RWMol, at: int, name: str, random: Random) -> None:
    put_label(molecule, at, name, *random.choice(spellings(name)))


def markup(text: str) -> str:
    """Returns the text with digits as subscripts and a sign at either end as a superscript."""
    marked = "".join(f"<sub>{c}</sub>" if c.isdigit() else c for c in text)
    return re.sub(r"^[+-]|[+-]$", r"<sup>\g<0></sup>", marked)


def add_unknown(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Puts what the atom detector does not know into the molecule, or into a fragment of it: an isotope, a metal or
    letters."""
    chance = random.random()
    if chance < COMPLEX_SHARE:
        return _metal_complex(molecule, random)
    if random.random() < FRAGMENT_SHARE:
        large = [p for p in fragments(molecule, random.choice(CUTS), random) if p.GetNumAtoms() > 2]
        molecule = random.choice(large or [molecule])
    if molecule.GetNumAtoms() < 3:
        return molecule
    if chance < COMPLEX_SHARE + ISOTOPE_SHARE:
        return _add_isotope(molecule, random)
    if chance < COMPLEX_SHARE + ISOTOPE_SHARE + METAL_SHARE:
        return _add_metal(molecule, random)
    return _add_letters(molecule, random)


def add_unknown_atom(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Puts a metal or an isotope into UNKNOWN_SHARE of the molecules, for programs that draw elements only."""
    if molecule.GetNumAtoms() < 3 or random.random() > UNKNOWN_SHARE:
        return molecule
    chance = random.random() * (COMPLEX_SHARE + ISOTOPE_SHARE + METAL_SHARE)
    if chance < COMPLEX_SHARE:
        return _metal_complex(molecule, random)
    return _add_isotope(molecule, random) if chance < COMPLEX_SHARE + ISOTOPE_SHARE else _add_metal(molecule, random)


def fragments(molecule: Chem.Mol, cuts: int, random: Random) -> list[Chem.Mol]:
    """Cuts at most `cuts` single bonds outside rings and returns the fragments, with hydrogens at the cut ends."""
    single = [b for b in molecule.GetBonds() if not b.IsInRing() and b.GetBondType() == Chem.BondType.SINGLE]
    pairs = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in random.sample(single, min(cuts, len(single)))]
    out = Chem.RWMol(molecule)
    for pair in pairs:
        out.RemoveBond(*pair)
        for number in pair:
            atom = out.GetAtomWithIdx(number)
            atom.SetBoolProp(CUT, True)
            _add_hydrogens(atom, 1)
            _clear_stereo(atom)
    return list(Chem.GetMolFrags(out, asMols=True))


def _add_hydrogens(atom: Chem.Atom, count: int) -> None:
    """Adds hydrogens (a negative count removes them) to an atom whose hydrogens RDKit does not derive from its
    bonds."""
    if atom.GetNoImplicit() or (atom.GetIsAromatic() and atom.GetSymbol() != "C"):
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() + count)


def _clear_stereo(atom: Chem.Atom) -> None:
    """Clears the stereochemistry of an atom and of the double bonds at it."""
    atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    for bond in atom.GetBonds():
        bond.SetStereo(Chem.BondStereo.STEREONONE)


def _add_letters(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Replaces one or two ends or atoms of chains by letters that the atom detector does not know."""
    places = [
        a.GetIdx()
        for a in molecule.GetAtoms()
        if a.GetDegree() == 1 or (a.GetDegree() == 2 and not a.IsInRing() and random.random() < 0.3)
    ]
    out = Chem.RWMol(molecule)
    for at in random.sample(places, min(1 + (random.random() < TWO_UNKNOWN_SHARE), len(places))):
        text = random.choice(STRANGE_LETTERS) if random.random() < 0.5 else _random_letters(random)
        put_label(out, at, text if is_known(text) else UNKNOWN_LABEL, text, text)
    return out.GetMol()


def _add_isotope(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    out = Chem.RWMol(molecule)
    candidates = [a for a in out.GetAtoms() if a.GetSymbol() in ISOTOPES]
    if candidates:
        atom = random.choice(candidates)
        atom.SetIsotope(random.choice(ISOTOPES[atom.GetSymbol()]))
    return out.GetMol()


def _add_metal(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Replaces an atom of at most four neighbours by a metal."""
    out = Chem.RWMol(molecule)
    degree = random.choice(METAL_DEGREES)
    candidates = [a.GetIdx() for a in out.GetAtoms() if a.GetDegree() == degree and not a.GetIsAromatic()]
    if candidates:
        at = random.choice(candidates)
        out.ReplaceAtom(at, _metal(degree, random))
        for bond in out.GetAtomWithIdx(at).GetBonds():
            bond.SetBondType(Chem.BondType.SINGLE)
            _clear_stereo(bond.GetOtherAtom(out.GetAtomWithIdx(at)))
        out.UpdatePropertyCache()
    return out.GetMol()


def _metal_complex(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Returns a metal with one to four small fragments of the molecule as ligands, half of the time all the same ones;
    the molecule itself if it has none."""
    ligands = [
        p
        for p in fragments(molecule, LIGAND_CUTS, random)
        if p.GetNumAtoms() <= MAX_LIGAND_ATOMS and any(a.HasProp(CUT) for a in p.GetAtoms())
    ]
    if not ligands:
        return molecule
    degree = random.choice(METAL_DEGREES)
    chosen = random.choices(ligands, k=degree) if random.random() < 0.5 else degree * [random.choice(ligands)]
    out = Chem.RWMol()
    out.AddAtom(_metal(degree, random))
    for ligand in chosen:
        first = out.GetNumAtoms()
        out.InsertMol(ligand)
        atom = next(a for a in list(out.GetAtoms())[first:] if a.HasProp(CUT))
        _add_hydrogens(atom, -1)
        out.AddBond(0, atom.GetIdx(), Chem.BondType.SINGLE)
    Chem.SanitizeMol(out)
    return out.GetMol()


def _metal(degree: int, random: Random) -> Chem.Atom:
    """Returns a metal that RDKit allows that many bonds."""
    table = Chem.GetPeriodicTable()
    allowed = [m for m in METALS if -1 in table.GetValenceList(m) or degree in table.GetValenceList(m)]
    atom = Chem.Atom(random.choice(allowed))
    atom.SetNoImplicit(True)
    return atom


def _random_letters(random: Random) -> str:
    """Returns one to four letters, sometimes with a digit or a prime, that are no KNOWN_SPELLINGS."""
    while True:
        text = random.choice(CAPITALS)
        for _ in range(random.choice([0, 1, 1, 2, 3])):
            text += random.choice(SMALL if random.random() < 0.7 else CAPITALS)
        chance = random.random()
        if chance < 0.15:
            text += random.choice("123456789")
        elif chance < 0.2:
            text += "'"
        if text not in KNOWN_SPELLINGS:
            return text

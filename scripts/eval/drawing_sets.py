"""The kinds of drawings of scripts.eval.drawings: canonical SMILES with PNG or JPEG files.

A third of the molecules comes from each file of FILES: those with 3 to 45 heavy atoms and defined double bonds, among
its first MEASURED (of chembl_subsets_valid, its first half). The reader was not calibrated on them.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw
from rdkit import Chem
from rdkit.Chem import rdAbbreviations, rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.eval.chat_pictures import MEASURED
from scripts.served_reader import markush, placeholders
from scripts.served_reader.labels import (
    GROUPS,
    LINKS,
)
from scripts.served_reader.properties import canonical_smiles
from scripts.train.molecules import read_molecules
from scripts.train.vision import abbreviations, augmentation, marks, uneven_layout
from scripts.train.vision import markush as markush_drawing
from scripts.train.vision.drawing import has_defined_double_bonds

FILES = ("zinc250k_valid.smi.gz", "chembl_subsets_valid.smi.gz", "common_chemicals_valid.smi.gz")
"""Files of molecules in the data folder."""
PROGRAMS = ("indigo", "openbabel", "cdk", "chython", "openchemlib", "smilesdrawer", "pikachu")
PLAIN = ", default settings"
"""Suffix of a program's name for drawings from SMILES with its default settings."""
Pictures = list[tuple[str, bytes]]
DRAWINGS_PER_SPELLING = 2
MAX_SUBSTITUENT = 14
"""The most atoms of a substituent with a variable attachment."""
MAX_UNIT = 8
"""The most atoms of a repeat unit."""
COUNTS = ("n", "n", "n", "m", "p", "x", "1-3", "2-4", "0-2")
"""Repeat counts."""

HARD = {
    "morphine": "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
    "codeine": "COc1ccc2C[C@H]3N(C)CC[C@@]45[C@@H](Oc1c24)[C@@H](O)C=C[C@@H]35",
    "naloxone": "C=CCN1CC[C@]23c4c5ccc(O)c4O[C@H]2C(=O)CC[C@@]3(O)[C@H]1C5",
    "quinine": "COc1ccc2nccc([C@@H](O)[C@@H]3C[C@@H]4CCN3C[C@@H]4C=C)c2c1",
    "camphor": "CC1(C)C2CCC1(C)C(=O)C2",
    "artemisinin": "C[C@@H]1CC[C@H]2[C@@H](C)C(=O)O[C@@H]3O[C@@]4(C)CC[C@@H]1[C@@]23OO4",
    "cocaine": "COC(=O)[C@H]1[C@@H](OC(=O)c2ccccc2)C[C@@H]2CC[C@H]1N2C",
    "adamantane": "C1C2CC3CC1CC(C2)C3",
    "amantadine": "NC12CC3CC(CC(C3)C1)C2",
    "cubane": "C12C3C4C1C5C4C3C25",
    "norbornane": "C1CC2CCC1C2",
    "bicyclooctane": "C1CC2CCC1CC2",
    "tropine": "CN1C2CCC1CC(O)C2",
    "strychnine": "O=C1C[C@@H]2OCC=C3CN4CC[C@]56c7ccccc7N1[C@H]5[C@H]2[C@H]3C[C@H]46",
    "water": "O",
    "ethanol": "CCO",
    "acetylene": "C#C",
    "methane": "C",
    "acetone": "CC(C)=O",
    "benzene": "c1ccccc1",
    "ammonia": "N",
    "carbon dioxide": "O=C=O",
    "formaldehyde": "C=O",
    "18-crown-6": "C1COCCOCCOCCOCCOCCO1",
    "erythromycin": "CC[C@H]1OC(=O)[C@H](C)"
    "[C@@H](O[C@H]2C[C@@](C)(OC)[C@@H](O)[C@H](C)O2)[C@H](C)[C@@H](O[C@@H]2O[C@H](C)C[C@@H]([C@H]2O)N(C)C)"
    "[C@](C)(O)C[C@@H](C)C(=O)[C@H](C)[C@@H](O)[C@]1(C)O",
    "cyclosporin-like ring": "CC1NC(=O)C(C)NC(=O)C(C)NC(=O)C(C)NC(=O)C(C)NC(=O)C(C)NC1=O",
    "muscone": "CC1CCCCCCCCCCCCC(=O)C1",
    "phenylboronic acid": "OB(O)c1ccccc1",
    "tetramethylsilane": "C[Si](C)(C)C",
    "sodium benzoate": "[Na+].[O-]C(=O)c1ccccc1",
    "trimethylphosphine": "CP(C)C",
    "selenomethionine": "C[Se]CC[C@H](N)C(=O)O",
    "iodobenzene": "Ic1ccccc1",
    "spiropentane": "C1CC12CC2",
    "triphenylphosphine": "c1ccc(cc1)P(c1ccccc1)c1ccccc1",
    "quinuclidine": "C1CN2CCC1CC2",
    "hexamine": "C1N2CN3CN1CN(C2)C3",
    "barrelene": "C1=CC2C=CC1C=C2",
}
"""Bridged, caged and tiny molecules, large rings, unusual elements. The names are only for readers."""
REAGENTS = {
    "Dess-Martin periodinane": "CC(=O)OI1(OC(C)=O)(OC(C)=O)OC(=O)c2ccccc21",
    "IBX": "O=I1(O)OC(=O)c2ccccc21",
    "PIDA": "CC(=O)OI(OC(C)=O)c1ccccc1",
    "PIFA": "O=C(OI(OC(=O)C(F)(F)F)c1ccccc1)C(F)(F)F",
    "Koser's reagent": "Cc1ccc(S(=O)(=O)OI(O)c2ccccc2)cc1",
    "Togni's reagent II": "FC(F)(F)I1OC(=O)c2ccccc21",
    "iodosylbenzene": "O=Ic1ccccc1",
    "diphenyliodonium chloride": "[Cl-].c1ccc([I+]c2ccccc2)cc1",
    "tributyl(vinyl)tin": "C=C[Sn](CCCC)(CCCC)CCCC",
    "tributyltin chloride": "CCCC[Sn](Cl)(CCCC)CCCC",
    "2-(tributylstannyl)pyridine": "CCCC[Sn](CCCC)(CCCC)c1ccccn1",
    "hexamethylditin": "C[Sn](C)(C)[Sn](C)(C)C",
    "bis(pinacolato)diboron": "CC1(C)OB(B2OC(C)(C)C(C)(C)O2)OC1(C)C",
    "phenylboronic acid pinacol ester": "CC1(C)OB(c2ccccc2)OC1(C)C",
    "potassium phenyltrifluoroborate": "[K+].F[B-](F)(F)c1ccccc1",
    "Burgess reagent": "CC[N+](CC)(CC)S(=O)(=O)[N-]C(=O)OC",
    "Lawesson's reagent": "COc1ccc(P2(=S)SP(=S)(c3ccc(OC)cc3)S2)cc1",
    "DAST": "CCN(CC)S(F)(F)F",
    "TBSCl": "CC(C)(C)[Si](C)(C)Cl",
    "HMDS": "C[Si](C)(C)N[Si](C)(C)C",
    "TIPS triflate": "CC(C)[Si](OS(=O)(=O)C(F)(F)F)(C(C)C)C(C)C",
    "DPPA": "[N-]=[N+]=NP(=O)(Oc1ccccc1)Oc1ccccc1",
    "HATU": "F[P-](F)(F)(F)(F)F.CN(C)C(=[N+](C)C)On1nnc2cccnc21",
    "NFSI": "O=S(=O)(c1ccccc1)N(F)S(=O)(=O)c1ccccc1",
    "Diazald": "Cc1ccc(S(=O)(=O)N(C)N=O)cc1",
    "methylenetriphenylphosphorane": "C=P(c1ccccc1)(c1ccccc1)c1ccccc1",
    "methyltriphenylphosphonium bromide": "[Br-].C[P+](c1ccccc1)(c1ccccc1)c1ccccc1",
    "TMS diazomethane": "C[Si](C)(C)C=[N+]=[N-]",
    "benzeneselenenyl chloride": "Cl[Se]c1ccccc1",
    "mCPBA": "O=C(OO)c1cccc(Cl)c1",
    "oxalyl chloride": "O=C(Cl)C(=O)Cl",
    "tosyl chloride": "Cc1ccc(S(=O)(=O)Cl)cc1",
    "DCC": "C(=NC1CCCCC1)=NC1CCCCC1",
    "DIAD": "CC(C)OC(=O)/N=N/C(=O)OC(C)C",
    "trimethylsulfoxonium iodide": "[I-].C[S+](C)(C)=O",
    "Vilsmeier's salt": "[Cl-].C[N+](C)=CCl",
    "PyBOP": "F[P-](F)(F)(F)(F)F.c1ccc2c(c1)nnn2O[P+](N1CCCC1)(N1CCCC1)N1CCCC1",
    "Selectfluor's cation": "F[N+]12CC[N+](CCl)(CC1)CC2",
    "Mukaiyama's reagent": "[I-].C[n+]1ccccc1Cl",
    "TEMPO": "CC1(C)CCCC(C)(C)N1[O]",
}
"""Synthetic reagents, chosen before the reader was trained on such groups (corpus.REAGENTS)."""
SALTS = {
    "diclofenac sodium": "[Na+].[O-]C(=O)Cc1ccccc1Nc1c(Cl)cccc1Cl",
    "naproxen sodium": "[Na+].COc1ccc2cc([C@H](C)C(=O)[O-])ccc2c1",
    "potassium clavulanate": "[K+].O=C([O-])[C@H]1N2C(=O)C[C@H]2O/C1=C\\CO",
    "sodium valproate": "[Na+].CCCC(CCC)C(=O)[O-]",
    "acetylcholine chloride": "[Cl-].CC(=O)OCC[N+](C)(C)C",
    "neostigmine bromide": "[Br-].CN(C)C(=O)Oc1cccc([N+](C)(C)C)c1",
    "pyridostigmine bromide": "[Br-].CN(C)C(=O)Oc1ccc[n+](C)c1",
    "tetrabutylammonium bromide": "[Br-].CCCC[N+](CCCC)(CCCC)CCCC",
    "benzyltriethylammonium chloride": "[Cl-].CC[N+](CC)(CC)Cc1ccccc1",
    "cetrimonium bromide": "[Br-].CCCCCCCCCCCCCCCC[N+](C)(C)C",
    "edrophonium chloride": "[Cl-].CC[N+](C)(C)c1cccc(O)c1",
    "propantheline bromide": "[Br-].CC(C)[N+](C)(CCOC(=O)C1c2ccccc2Oc2ccccc21)C(C)C",
    "methylene blue": "[Cl-].CN(C)c1ccc2nc3ccc(=[N+](C)C)cc-3sc2c1",
    "crystal violet": "[Cl-].CN(C)c1ccc(C(c2ccc(N(C)C)cc2)=C2C=CC(=[N+](C)C)C=C2)cc1",
    "thiamine chloride": "[Cl-].Cc1ncc(C[n+]2csc(CCO)c2C)c(N)n1",
    "paraquat dichloride": "[Cl-].[Cl-].C[n+]1ccc(-c2cc[n+](C)cc2)cc1",
    "metformin hydrochloride": "Cl.CN(C)C(=N)NC(=N)N",
    "fluoxetine hydrochloride": "Cl.CNCCC(Oc1ccc(C(F)(F)F)cc1)c1ccccc1",
    "benserazide hydrochloride": "Cl.NC(CO)C(=O)NNCc1ccc(O)c(O)c1O",
    "ethambutol dihydrochloride": "Cl.Cl.CC[C@@H](CO)NCCN[C@@H](CC)CO",
    "imatinib mesylate": "CS(=O)(=O)O.Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1",
    "chlorphenamine maleate": "O=C(O)/C=C\\C(=O)O.CN(C)CCC(c1ccc(Cl)cc1)c1ccccn1",
    "sumatriptan succinate": "O=C(O)CCC(=O)O.CNS(=O)(=O)Cc1ccc2[nH]cc(CCN(C)C)c2c1",
    "bisoprolol fumarate": "O=C(O)/C=C/C(=O)O.CC(C)NCC(O)COc1ccc(COCCOC(C)C)cc1",
    "dextromethorphan hydrobromide": "Br.COc1ccc2c(c1)[C@]13CCCC[C@@H]1[C@H](C2)N(C)CC3",
    "methyltriphenylphosphonium iodide": "[I-].C[P+](c1ccccc1)(c1ccccc1)c1ccccc1",
    "BMIM tetrafluoroborate": "F[B-](F)(F)F.CCCCn1cc[n+](C)c1",
    "EMIM hexafluorophosphate": "F[P-](F)(F)(F)(F)F.CCn1cc[n+](C)c1",
    "BMIM triflimide": "O=S(=O)([N-]S(=O)(=O)C(F)(F)F)C(F)(F)F.CCCCn1cc[n+](C)c1",
    "tetraethylammonium tosylate": "Cc1ccc(S(=O)(=O)[O-])cc1.CC[N+](CC)(CC)CC",
    "pyridinium p-toluenesulfonate": "Cc1ccc(S(=O)(=O)[O-])cc1.c1cc[nH+]cc1",
    "trimethylsulfonium iodide": "[I-].C[S+](C)C",
    "lithium diisopropylamide": "[Li+].CC(C)[N-]C(C)C",
    "potassium tert-butoxide": "[K+].CC(C)(C)[O-]",
    "sodium ethoxide": "[Na+].CC[O-]",
    "sodium benzenesulfinate": "[Na+].O=S([O-])c1ccccc1",
    "monosodium glutamate": "[Na+].N[C@@H](CCC(=O)O)C(=O)[O-]",
    "disodium EDTA": "[Na+].[Na+].O=C([O-])CN(CCN(CC(=O)O)CC(=O)[O-])CC(=O)O",
    "calcium acetate": "[Ca+2].CC(=O)[O-].CC(=O)[O-]",
    "ciprofloxacin hydrochloride hydrate": "Cl.O.O=C(O)c1cn(C2CC2)c2cc(N3CCNCC3)c(F)cc2c1=O",
}
"""Salts and solvates, mostly drugs, chosen before the reader compared pieces (molecule_builder.UNBALANCED)."""
UNKNOWN = [
    "[Pt](Cl)(Cl)(N)N",
    "[Fe]c1ccccc1",
    "C[Hg]C",
    "[Cu]Oc1ccccc1",
    "C[Pb](C)(C)C",
    "[13CH3]C(=O)O",
]
"""Labels that the reader does not know: metals, isotopes. A wrong reading must at least have a warning. They were
chosen before the training with random letters, metals and isotopes, which was tuned on them."""
UNKNOWN_HELD_OUT = [
    "C[Hg]Cl",
    "CC[Hg]Sc1ccccc1C(=O)O",
    "CC[Pb](CC)(CC)CC",
    "CC[Zn]CC",
    "Br[Mg]c1ccccc1",
    "C[Mg]I",
    "CCCC[Li]",
    "C[Al](C)C",
    "O=[Os](=O)(=O)=O",
    "Cl[Pt](Cl)(N)N",
    "O=C1O[Pt]OC(=O)C12CCC2",
    "CC[P](CC)(CC)[Au]SC1OC(COC(C)=O)C(OC(C)=O)C(OC(C)=O)C1OC(C)=O",
    "O=C1O[Bi](O)Oc2ccccc12",
    "C[Sb](C)C",
    "CC(=O)O[Pb](OC(C)=O)(OC(C)=O)OC(C)=O",
    "c1ccc(cc1)[Bi](c1ccccc1)c1ccccc1",
    "CC(=O)O[Pd]OC(C)=O",
    "Cl[Ti](Cl)(C1C=CC=C1)C1C=CC=C1",
    "CC(C)O[Ti](OC(C)C)(OC(C)C)OC(C)C",
    "CO[Zr](OC)(OC)OC",
    "C[Cd]C",
    "CC(C)C[Al]CC(C)C",
    "C[Tl](C)Cl",
    "CC[Ga](CC)CC",
    "[11CH3]Oc1ccc(C(=O)O)cc1",
    "CC(=O)O[14CH2]CC",
    "NCC([18OH])=O",
    "O[C@H]1C(O)OC(CO)C(O)C1[18F]",
    "[125I]c1ccc(CC(N)C(=O)O)cc1",
    "C[15NH]C(C)=O",
    "O=[13C](O)c1ccccc1",
    "CC[35S]CC",
    "[3H]C([3H])([3H])Oc1ccccc1",
    "CC1CC([82Br])C1",
    "*c1ccc(C(=O)O)cc1 |$Linker;;;;;;;;;$|",
    "*OC(=O)CCN |$Alloc;;;;;;$|",
    "*N1CCCC1C(=O)O |$Fmoc;;;;;;;;$|",
    "*SC1CCCCC1 |$Trt;;;;;;;$|",
    "*CC(N)C(=O)O |$Dye;;;;;;$|",
    "*OCC1CO1 |$Si*;;;;;$|",
    "*Cc1ccccc1 |$PEG;;;;;;;$|",
    "*Nc1ccncn1 |$Gly;;;;;;;$|",
    "*OC1CCCCO1 |$MEM;;;;;;;$|",
    "*CCO |$Biotin;;;$|",
]
"""Other compounds and letters, chosen before that training and not used to tune it. Of the letters, only Fmoc and Gly
are in the training data."""
PLACEHOLDERS = [
    "*c1ccccc1",
    "*CC(=O)O",
    "*N1CCOCC1",
    "*OC(=O)c1ccccc1",
    "*c1ncccc1* |$Ra;;;;;;;Rb$|",
    "*C(=O)Nc1ccccc1 |$Q;;;;;;;;;$|",
    "*c1cccs1 |$E;;;;;$|",
    "*C#Cc1ccccc1 |$J;;;;;;;;$|",
    "*c1cc(*)ccn1 |$R4;;;;R5;;;$|",
]
"""Stars, R groups and letters, chosen before the reader knew any."""


def _drawable(smiles: str) -> bool:
    molecule = Chem.MolFromSmiles(smiles)
    return molecule is not None and 3 <= molecule.GetNumHeavyAtoms() <= 45 and has_defined_double_bonds(smiles)


def molecules(data: Path, count: int, seed: int) -> list[str]:
    """Returns canonical SMILES, the same for the same seed."""
    random = Random(f"drawings {seed}")
    out: list[str] = []
    for name in FILES:
        every = read_molecules(data / name)
        every = every[: len(every) // 2 if name.startswith("chembl") else MEASURED]
        random.shuffle(every)
        chosen = (Chem.CanonSmiles(s) for s in every if _drawable(s))
        out += [s for s, _ in zip(chosen, range(-(-count // 3)), strict=False)]
    random.shuffle(out)
    return out[:count]


def default(smiles: str, random: Random) -> Image.Image:
    """Draws in RDKit's default style, in a common size."""
    return draw(Chem.MolFromSmiles(smiles), random)


def draw(
    molecule: Chem.Mol,
    random: Random,
    change: Callable[[rdMolDraw2D.MolDrawOptions], None] = lambda _: None,
    highlights: Sequence[int] = (),
) -> Image.Image:
    size = random.choice([(300, 300), (400, 300), (400, 400), (500, 400)])
    drawer = rdMolDraw2D.MolDraw2DCairo(*size)
    drawer.drawOptions().includeMetadata = False
    change(drawer.drawOptions())
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule, highlightAtoms=highlights)
    drawer.FinishDrawing()
    return Image.open(io.BytesIO(drawer.GetDrawingText())).convert("RGB")


def with_labels(smiles: str, random: Random) -> Image.Image:
    """Draws CXSMILES in the default style, with atom labels (`|$R1;;$|`)."""
    molecule = Chem.MolFromSmiles(smiles)
    for atom in molecule.GetAtoms():
        if atom.HasProp("atomLabel"):
            atom.SetProp("_displayLabel", atom.GetProp("atomLabel"))
    return draw(molecule, random)


def labelled(smiles: str) -> str:
    """Returns the canonical SMILES or CXSMILES of CXSMILES whose labels are as drawn."""
    molecule = Chem.MolFromSmiles(smiles)
    for atom in molecule.GetAtoms():
        if atom.HasProp(placeholders.LABEL):
            atom.SetProp(placeholders.LABEL, placeholders.label_of(atom.GetProp(placeholders.LABEL)))
    return canonical_smiles(molecule)


def framed(smiles: str, random: Random) -> Image.Image:
    image = default(smiles, random)
    ImageDraw.Draw(image).rectangle((1, 1, image.width - 2, image.height - 2), outline="black", width=2)
    return image


def rotated(smiles: str, random: Random) -> Image.Image:
    return default(smiles, random).rotate(random.choice([90, 180, 270]), expand=True)


def transparent(smiles: str, random: Random) -> Image.Image:
    """Makes white transparent, as in files for slides."""
    image = default(smiles, random).convert("RGBA")
    pixels = np.array(image)
    pixels[..., 3] = 255 - pixels[..., :3].min(2)
    return Image.fromarray(pixels)


def grey(smiles: str, random: Random) -> Image.Image:
    return default(smiles, random).convert("L")


def abbreviated(smiles: str, random: Random) -> Image.Image | None:
    """Draws with RDKit's abbreviations, or returns None if they stand for another molecule."""
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    condensed = rdAbbreviations.CondenseMolAbbreviations(
        molecule, rdAbbreviations.GetDefaultAbbreviations(), maxCoverage=0.8
    )
    return draw(condensed, random) if spelled_out(condensed) == Chem.MolToSmiles(molecule) else None


def spelled_out(condensed: Chem.Mol) -> str:
    """Returns the canonical SMILES that a drawing with RDKit's abbreviations shows.

    RDKit writes iBu for sec-butyl and iPent for 2-pentyl, and omits the charge of an ammonium in NMe and the
    configuration of sec-butyl.
    """
    groups = {one.label: Chem.MolToSmiles(one.mol) for one in rdAbbreviations.GetDefaultAbbreviations()} | {
        "iBu": "*CC(C)C",
        "iPent": "*CCC(C)C",
    }
    return expanded(
        condensed, {a.GetIdx(): groups[a.GetProp("atomLabel")] for a in condensed.GetAtoms() if a.HasProp("atomLabel")}
    )


def each_group(smiles: list[str], seed: int) -> Pictures:
    """Draws every spelling of every group that the reader knows, in place of an end of a molecule."""
    return _each(smiles, seed, GROUPS, abbreviations.spellings, _end)


def each_link(smiles: list[str], seed: int) -> Pictures:
    """Draws every spelling of the groups with two bonds, in place of an ether, an amine or a CH2."""
    return _each(smiles, seed, LINKS | {"NMe": GROUPS["NMe"]}, abbreviations.link_spellings, _link)


def wavy_bonds(smiles: list[str], seed: int) -> Pictures:
    """Draws a wavy bond at one of the stereocentres of each molecule that has a suitable bond: the arrangement there is
    unknown."""
    out: Pictures = []
    for one in smiles:
        random = Random(f"{seed} wavy {one}")
        molecule = Chem.MolFromSmiles(one)
        choices = [
            (bond, centre)
            for bond in molecule.GetBonds()
            for centre, other in ((bond.GetBeginAtom(), bond.GetEndAtom()), (bond.GetEndAtom(), bond.GetBeginAtom()))
            if bond.GetBondType() == Chem.BondType.SINGLE
            and not bond.IsInRing()
            and centre.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED
            and other.GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED
        ]
        if choices:
            bond, centre = random.choice(choices)
            centre.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
            truth = Chem.CanonSmiles(Chem.MolToSmiles(molecule))
            bond.SetBondDir(Chem.BondDir.UNKNOWN)
            out.append((truth, file(draw(molecule, random))))
    return out


def with_attachment(smiles: str, random: Random) -> str | None:
    """Returns CXSMILES with a substituent at any place of its ring, None without one that can be detached."""
    molecule = Chem.RWMol(Chem.MolFromSmiles(smiles))
    rings = molecule.GetRingInfo().AtomRings()
    found = [
        (at.GetIdx(), other.GetIdx())
        for bond in molecule.GetBonds()
        for at, other in ((bond.GetBeginAtom(), bond.GetEndAtom()), (bond.GetEndAtom(), bond.GetBeginAtom()))
        if bond.GetBondType() == Chem.BondType.SINGLE
        and not bond.IsInRing()
        and at.GetSymbol() == "C"
        and at.GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED
        and all(each.GetStereo() == Chem.BondStereo.STEREONONE for each in other.GetBonds())
        and [len(ring) for ring in rings if at.GetIdx() in ring] in ([5], [6])
    ]
    if not found:
        return None
    at, first = random.choice(found)
    ring = next(ring for ring in rings if at in ring)
    molecule.RemoveBond(at, first)
    substituent = next(piece for piece in Chem.GetMolFrags(molecule) if first in piece)
    end = molecule.AddAtom(Chem.Atom(0))
    bonds = molecule.AddBond(end, first, Chem.BondType.SINGLE)
    molecule.UpdatePropertyCache()
    places = [number for number in ring if molecule.GetAtomWithIdx(number).GetTotalNumHs()]
    markush.set_endpoints(molecule.GetBondWithIdx(bonds - 1), places)
    return canonical_smiles(molecule) if len(substituent) <= MAX_SUBSTITUENT and len(places) > 1 else None


def with_unit(smiles: str, random: Random) -> str | None:
    """Returns CXSMILES with a part of a chain as a repeat unit, None if it has no chain."""
    molecule = Chem.MolFromSmiles(smiles)
    bonds = [
        bond.GetIdx()
        for bond in molecule.GetBonds()
        if bond.GetBondType() == Chem.BondType.SINGLE and not bond.IsInRing()
    ]
    pairs = [(first, second) for number, first in enumerate(bonds) for second in bonds[:number]]
    for pair in random.sample(pairs, len(pairs)):
        unit = markush_drawing.atoms_between(molecule, *pair)
        ends = [
            atom for bond in map(molecule.GetBondWithIdx, pair) for atom in (bond.GetBeginAtom(), bond.GetEndAtom())
        ]
        outer = [atom for atom in ends if atom.GetIdx() not in unit]
        if (
            not 0 < len(unit) <= MAX_UNIT
            or any(molecule.GetAtomWithIdx(atom).IsInRing() for atom in unit)
            or all(atom.GetDegree() == 1 for atom in outer)
        ):
            continue
        markush.add_repeat_unit(molecule, unit, pair, random.choice(COUNTS))
        return canonical_smiles(molecule)
    return None


MARKUSH: dict[str, Callable[[str, Random], str | None]] = {"attachments": with_attachment, "units": with_unit}
"""By folder of the drawings: the function that adds the feature to a molecule, None where it has no place."""
MARKUSH_KINDS = {"attachments": "variable attachments", "units": "repeat units"}


def with_feature(smiles: list[str], feature: str) -> list[str]:
    """Returns CXSMILES of the molecules that have a place for a feature of MARKUSH."""
    made = (MARKUSH[feature](one, Random(f"{feature} {one}")) for one in smiles)
    return [one for one in made if one]


def canonical(smiles: str) -> str:
    """Returns canonical SMILES; CXSMILES, which with_feature made canonical, as it is."""
    return smiles if "|" in smiles else Chem.CanonSmiles(smiles)


def _each(
    smiles: list[str],
    seed: int,
    groups: dict[str, str],
    spellings: Callable[[str], list[tuple[str, str]]],
    place: Callable[[str], int | None],
) -> Pictures:
    """Draws molecules with every spelling of groups, in place of the atom that `place` returns."""
    places = [(s, at) for s in smiles if (at := place(s)) is not None]
    out: Pictures = []
    for name, text in groups.items():
        for right, left in spellings(name):
            for _ in range(DRAWINGS_PER_SPELLING):
                one, at = places[len(out) % len(places)]
                molecule = Chem.RWMol(Chem.MolFromSmiles(one))
                marks.put_label(molecule, at, name, right, left)
                out.append(
                    (spelled_at(molecule, at, text), file(draw(molecule, Random(f"{seed} {name} {right} {one}"))))
                )
    return out


def _end(smiles: str) -> int | None:
    """Returns the first atom without a charge whose only bond is a single one to a carbon."""
    return next(
        (
            a.GetIdx()
            for a in Chem.MolFromSmiles(smiles).GetAtoms()
            if marks.is_end(a) and not a.GetFormalCharge() and a.GetNeighbors()[0].GetSymbol() == "C"
        ),
        None,
    )


def _link(smiles: str) -> int | None:
    """Returns the first atom without a charge that has two single bonds."""
    return next(
        (
            a.GetIdx()
            for a in Chem.MolFromSmiles(smiles).GetAtoms()
            if abbreviations.is_link(a) and not a.GetFormalCharge()
        ),
        None,
    )


def spelled_at(molecule: Chem.Mol, at: int, text: str) -> str:
    """Returns the canonical SMILES of a molecule with a group in place of an atom.

    text: SMILES of the group, whose first atom takes the bonds of the atom.
    """
    group = Chem.MolFromSmiles(text)
    joined = Chem.RWMol(Chem.CombineMols(molecule, group))
    first = molecule.GetNumAtoms()
    joined.ReplaceAtom(at, group.GetAtomWithIdx(0))
    for bond in group.GetAtomWithIdx(0).GetBonds():
        joined.AddBond(at, first + bond.GetOtherAtomIdx(0), bond.GetBondType())
    joined.RemoveAtom(first)
    return Chem.CanonSmiles(Chem.MolToSmiles(joined))


def expanded(molecule: Chem.Mol, groups: dict[int, str]) -> str:
    """Returns the canonical SMILES of a molecule with groups in place of ends.

    groups: SMILES by atom, whose first atom is the `*` that binds to the molecule.
    """
    joined = Chem.Mol(molecule)
    for number, (at, text) in enumerate(groups.items(), 1):
        group = Chem.MolFromSmiles(text)
        for atom in (joined.GetAtomWithIdx(at), group.GetAtomWithIdx(0)):
            atom.SetAtomMapNum(number)
        joined = Chem.CombineMols(joined, group)
    return Chem.CanonSmiles(Chem.MolToSmiles(Chem.molzip(joined)))


def numbered(smiles: str, random: Random) -> Image.Image:
    def change(options: rdMolDraw2D.MolDrawOptions) -> None:
        options.addAtomIndices = True

    return draw(Chem.MolFromSmiles(smiles), random, change)


def mapped(smiles: str, random: Random) -> Image.Image:
    """Draws with atom map numbers, with which RDKit writes all letters: C:1."""
    molecule = Chem.MolFromSmiles(smiles)
    for atom in molecule.GetAtoms():
        atom.SetAtomMapNum(atom.GetIdx() + 1)
    return draw(molecule, random)


def highlighted(smiles: str, random: Random) -> Image.Image:
    """Draws with an atom and its neighbours highlighted in RDKit's own colour, as substructures are."""
    molecule = Chem.MolFromSmiles(smiles)
    centre = random.choice(molecule.GetAtoms())
    return draw(molecule, random, highlights=[atom.GetIdx() for atom in (centre, *centre.GetNeighbors())])


def photographed(smiles: str, random: Random) -> Image.Image:
    """Simulates a mild photograph, as in training."""
    image, _ = augmentation.photograph(default(smiles, random).resize((640, 480)), np.zeros((1, 2), np.float32), random)
    return image


def uneven(smiles: str, random: Random) -> Image.Image | None:
    """Draws with uneven bonds and bent angles, as in training, or returns None if that shows another molecule."""
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    uneven_layout.distort(molecule, random)
    shown = Chem.MolFromMolBlock(Chem.MolToMolBlock(molecule))
    return (
        draw(molecule, random) if shown is not None and Chem.MolToSmiles(shown) == Chem.MolToSmiles(molecule) else None
    )


KINDS: dict[str, Callable[[str, Random], Image.Image | None]] = {
    "RDKit": default,
    "framed": framed,
    "turned by quarters": rotated,
    "transparent": transparent,
    "grey levels": grey,
    "abbreviations": abbreviated,
    "atom numbers": numbered,
    "atom map numbers": mapped,
    "highlighted atoms": highlighted,
    "uneven bonds": uneven,
    "mild photographs": photographed,
}


def file(image: Image.Image, kind: str = "PNG") -> bytes:
    """Returns a file without metadata."""
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"quality": 30} if kind == "JPEG" else {}))
    return buffer.getvalue()


def drawn_by(path: Path, count: int) -> tuple[list[dict], Pictures]:
    """Reads the drawings of another program. Returns their records, and the drawings."""
    records = [json.loads(line) for line in path.open()][:count]
    return records, [(canonical(r["smiles"]), base64.b64decode(r["png"])) for r in records]


def sets(data: Path, count: int, seed: int, folder: Path | None) -> dict[str, Pictures]:
    """Returns the drawings of every kind.

    folder: PROGRAM.jsonl and PROGRAM-plain.jsonl of other programs, from scripts.train.vision.other_programs. If some
    drawings of a program have numbers in place of carbons, these and the others are kinds of their own, too.
    """
    chosen = molecules(data, count, seed)
    out: dict[str, Pictures] = {}
    for kind, make in KINDS.items():
        images = ((s, make(s, Random(f"{seed} {kind} {s}"))) for s in chosen)
        out[kind] = [(s, file(image)) for s, image in images if image is not None]
    out["every known abbreviation"] = each_group(chosen, seed)
    out["every known group with two bonds"] = each_link(chosen, seed)
    out["wavy bonds"] = wavy_bonds(chosen, seed)
    out["JPEG at quality 30"] = [(s, file(default(s, Random(f"{seed} JPEG {s}")), "JPEG")) for s in chosen]
    out["hard structures"] = [
        (Chem.CanonSmiles(s), file(default(s, Random(f"{seed} hard {s}")))) for s in HARD.values()
    ]
    out["reagents"] = [
        (Chem.CanonSmiles(s), file(default(s, Random(f"{seed} reagent {s}")))) for s in REAGENTS.values()
    ]
    out["salts"] = [(Chem.CanonSmiles(s), file(default(s, Random(f"{seed} salt {s}")))) for s in SALTS.values()]
    out["unknown labels, first set"] = [
        (Chem.CanonSmiles(s), file(default(s, Random(f"{seed} strange {s}")))) for s in UNKNOWN
    ]
    out["unknown labels, second set"] = [
        (Chem.CanonSmiles(s.split()[0]), file(with_labels(s, Random(f"{seed} strange {s}")))) for s in UNKNOWN_HELD_OUT
    ]
    out["placeholders"] = [(labelled(s), file(with_labels(s, Random(f"{seed} strange {s}")))) for s in PLACEHOLDERS]
    for feature, kind in MARKUSH_KINDS.items():
        for path in sorted((folder / feature).glob("*.jsonl")) if folder else []:
            out[f"{kind}, by {path.stem.removesuffix('-plain')}"] = drawn_by(path, count)[1]
    for path in sorted(folder.glob("*.jsonl")) if folder else []:
        kind = path.stem.replace("-plain", PLAIN)
        records, out[kind] = drawn_by(path, count)
        if any(r.get("numbered") for r in records):
            for name, numbered in (("without numbers", False), ("numbers for carbons", True)):
                out[f"{kind}, {name}"] = [one for one, r in zip(out[kind], records) if r["numbered"] == numbered]
    return out

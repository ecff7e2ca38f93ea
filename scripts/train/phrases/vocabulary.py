"""Elements and functional groups that questions name, with the words for them, in the order of the labels."""

from __future__ import annotations

from scripts.served_reader import properties

ELEMENTS = properties.ELEMENTS | {"S": "sulfur|sulphur", "Al": "aluminium|aluminum"}
"""Names by symbol. Elements that no training drawing has are here to be answered with no."""

COMMON = ["C", "N", "O", "F", "S", "Cl", "Br", "I", "P", "H"]
"""Elements of most questions."""

GROUPS = {
    "halogen": "halogen|halogen atom|halide|F, Cl, Br or I",
    "hydroxyl": "hydroxyl|hydroxyl group|hydroxy group|OH group|OH|hydroxy",
    "alcohol": "alcohol|alcohol group|alcoholic OH|aliphatic alcohol",
    "phenol": "phenol|phenol group|phenolic OH|phenolic hydroxyl",
    "carboxylic acid": "carboxylic acid|carboxyl group|carboxylate|carboxylic acid group|COOH|COOH group|acid group|"
    "carboxylic group|CO2H|carboxyl",
    "ester": "ester|ester group|carboxylic ester|ester linkage",
    "ether": "ether|ether group|ether linkage|ether oxygen|C-O-C",
    "amide": "amide|amide bond|amide group|carboxamide|peptide bond|amide linkage",
    "amine": "amine|amino group|amine group|amino|amine nitrogen",
    "primary amine": "primary amine|NH2 group|NH2|primary amino group",
    "nitro": "nitro group|nitro|NO2|NO2 group",
    "nitrile": "nitrile|cyano group|nitrile group|CN group|cyanide group|cyano",
    "ketone": "ketone|keto group|ketone group|ketone carbonyl",
    "aldehyde": "aldehyde|aldehyde group|formyl group|CHO group|formyl",
    "carbonyl": "carbonyl|carbonyl group|C=O|C=O group|carbonyl carbon",
    "sulfonamide": "sulfonamide|sulphonamide|sulfonamide group|sulfonamide moiety",
    "sulfone": "sulfone|sulphone|sulfonyl group|sulfone group|SO2 group|sulfonyl",
    "thioether": "thioether|sulfide|thioether linkage|thioether group|C-S-C",
    "thiol": "thiol|SH group|thiol group|mercaptan|mercapto group|sulfhydryl",
    "urea": "urea|urea group|urea unit|urea moiety",
    "carbamate": "carbamate|urethane|carbamate group",
    "methyl": "methyl|methyl group|CH3|CH3 group",
    "methoxy": "methoxy|methoxy group|OMe|OCH3|OMe group|OCH3 group",
    "trifluoromethyl": "trifluoromethyl|CF3|trifluoromethyl group|CF3 group",
    "benzene ring": "benzene ring|phenyl ring|benzene|phenyl group|phenyl|benzene nucleus",
    "pyridine": "pyridine|pyridine ring|pyridyl|pyridyl group",
    "alkene": "alkene|olefin|C=C|carbon-carbon double bond|alkene group|C=C double bond|vinyl group|alkenyl group",
    "alkyne": "alkyne|acetylene|carbon-carbon triple bond|C#C|alkynyl group|acetylene group",
    "double bond": "double bond|C=X bond|double-bond",
    "triple bond": "triple bond|triple-bond",
    "epoxide": "epoxide|oxirane|epoxide ring",
    "three-membered ring": "three-membered ring|3-membered ring|cyclopropane|cyclopropyl|three membered ring|"
    "3 membered ring|3-ring",
    "four-membered ring": "four-membered ring|4-membered ring|cyclobutane|four membered ring|4 membered ring",
    "five-membered ring": "five-membered ring|5-membered ring|five membered ring|5 membered ring|pentagon|5-ring",
    "six-membered ring": "six-membered ring|6-membered ring|six membered ring|6 membered ring|hexagon|6-ring",
    "seven-membered ring": "seven-membered ring|7-membered ring|seven membered ring|7 membered ring",
    "heterocycle": "heterocycle|heterocyclic ring|hetero ring|ring with a heteroatom|heteroaromatic ring|"
    "heterocyclic system",
    "spiro atom": "spiro atom|spiro centre|spiro center|spiro carbon|spiro junction",
}
"""Words by name. model_repository/molecule_reader/1/reader/functional_groups.py defines each."""

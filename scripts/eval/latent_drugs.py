"""Measures the latent-space API on common molecules: drugs, reagents, salts, household chemicals.

The functions send requests with post(path, body), which raises Refused if the service rejects the body, and judge the
answers with Python RDKit. A good molecule is distinct, similar enough and not the seed. A fault is a radical or an
impossible valence that the seed does not have. A molecule is read if the model can spell it.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Sequence

from rdkit import Chem, DataStructs

from scripts.eval import latent_space, molecules
from scripts.eval.latent_space import Post
from scripts.eval.service import Refused

IMATINIB = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
NAMED = {
    "imatinib": IMATINIB,
    "erlotinib": "C#Cc1cccc(Nc2ncnc3cc(OCCOC)c(OCCOC)cc23)c1",
    "gefitinib": "COc1cc2ncnc(Nc3ccc(F)c(Cl)c3)c2cc1OCCCN1CCOCC1",
    "ibuprofen": "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
    "caffeine": "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "sildenafil": "CCCc1nn(C)c2c(=O)[nH]c(-c3cc(S(=O)(=O)N4CCN(C)CC4)ccc3OCC)nc12",
    "celecoxib": "Cc1ccc(-c2cc(C(F)(F)F)nn2-c2ccc(S(N)(=O)=O)cc2)cc1",
    "omeprazole": "COc1ccc2[nH]c(S(=O)Cc3ncc(C)c(OC)c3C)nc2c1",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21",
    "fluoxetine": "CNCCC(Oc1ccc(C(F)(F)F)cc1)c1ccccc1",
}
"""Drugs for the figures that name their molecules."""
VARIANTS = [
    ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),
    ("CC(C)Cc1ccc([C@@H](C)C(=O)O)cc1", "CC(C)Cc1ccc([C@H](C)C(=O)O)cc1"),
    ("CNCCC(Oc1ccc(C(F)(F)F)cc1)c1ccccc1", "CNCCC(Oc1ccc(C(F)(F)F)cc1)c1ccccc1.Cl"),
    ("COc1ccc2cc(ccc2c1)[C@H](C)C(=O)O", "COc1ccc2cc(ccc2c1)[C@H](C)C(=O)[O-].[Na+]"),
    ("CN1C2CCC1CC(OC(=O)C(CO)c1ccccc1)C2", "CN1[C@H]2CC[C@@H]1C[C@H](OC(=O)C(CO)c1ccccc1)C2"),
    ("Cn1c(=O)c2c(ncn2C)n(C)c1=O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O.OC(=O)CC(O)(CC(=O)O)C(=O)O"),
]
"""Stereo and salt variants of one drug, which should be nearest neighbours of each other."""
POINTS, STEPS, EACH = 50, 50, 10
FLOOR = 0.7
"""The documented default of min_similarity at /generate."""


def drug_like(smiles: list[str], least: int = 10, most: int = 45) -> list[str]:
    """Returns the molecules with one component and `least` to `most` heavy atoms."""
    return [s for s in smiles if "." not in s and least <= Chem.MolFromSmiles(s).GetNumHeavyAtoms() <= most]


def round_trip(post: Post, smiles: list[str]) -> dict[str, float]:
    """Returns the shares of molecules that are read, and of their reconstruction."""
    states = [row and row[0] for row in _rows(post, "/hidden", "hiddens", smiles)]
    read = [(s, state) for s, state in zip(smiles, states, strict=True) if state]
    figures = latent_space.reconstruction([s for s, _ in read], latent_space.decode(post, [state for _, state in read]))
    share = len(read) / len(smiles)
    return {"molecules": len(smiles), "read": share, **{name: value * share for name, value in figures.items()}}


def _rows(post: Post, path: str, name: str, smiles: list[str], size: int = 50) -> list:
    """Returns the list `name` of the answers, with None for molecules that the service does not read.

    If it refuses a list, each molecule is sent alone.
    """
    rows: list = []
    for start in range(0, len(smiles), size):
        part = smiles[start : start + size]
        try:
            rows += post(path, {"sequences": part})[name]
        except Refused:
            rows += [None] if len(part) == 1 else _rows(post, path, name, part, 1)
    return rows


def faults(molecule: Chem.Mol) -> tuple[int, int]:
    """Returns the numbers of radical electrons and of atoms with a valence that RDKit does not allow."""
    problems = [p for p in Chem.DetectChemistryProblems(molecule) if p.GetType() == "AtomValenceException"]
    return sum(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms()), len(problems)


def has_new_faults(smiles: str, seed: str) -> bool:
    """Reports whether a text has more faults than its seed, or is no SMILES."""
    found, start = (Chem.MolFromSmiles(text, sanitize=False) for text in (smiles, seed))
    if found is None:
        return True
    for molecule in (found, start):
        molecule.UpdatePropertyCache(strict=False)
        Chem.AssignRadicals(molecule)
    return any(a > b for a, b in zip(faults(found), faults(start), strict=True))


def judge(seed: str, texts: Sequence[str], floor: float = 0.0) -> dict[str, int]:
    """Counts the texts that are good (similarity at least `floor`), have faults, or have more components than the
    seed."""
    origin, good, bad = Chem.MolFromSmiles(seed), set(), 0
    start = Chem.MolToSmiles(origin)
    for text in texts:
        molecule = Chem.MolFromSmiles(text) if text else None
        bad += has_new_faults(text, seed)
        # The service's similarity may differ in the last digit.
        if (
            molecule is not None
            and Chem.MolToSmiles(molecule) != start
            and molecules.similar(molecule, origin) >= floor - 1e-9
        ):
            good.add(Chem.MolToSmiles(molecule))
    return {
        "returned": len(texts),
        "good": len(good),
        "faults": bad,
        "mixtures": sum(text.count(".") > seed.count(".") for text in texts),
    }


def defaults(post: Post, seeds: list[str]) -> dict[str, float]:
    """Returns shares of the ten molecules of /generate with `smi` alone."""
    rows = [judge(seed, post("/generate", {"smi": seed})["generated"], FLOOR) for seed in seeds]
    return {"seeds": len(seeds), "asked": EACH, **_shares(rows, EACH)}


def unguided(post: Post, seeds: list[str], requested: int = 100) -> dict[str, float]:
    """Returns shares of the molecules of the algorithm `none`, when it should return more than it has particles."""
    rows = [
        judge(
            s,
            post("/generate", {"smi": s, "algorithm": "none", "num_molecules": requested, "particles": 30})[
                "generated"
            ],
        )
        for s in seeds
    ]
    return {"seeds": len(seeds), "asked": requested, **_shares(rows, requested)}


def _shares(rows: list[dict[str, int]], requested: int) -> dict[str, float]:
    returned = sum(row["returned"] for row in rows)
    return {
        "returned": returned / requested / len(rows),
        "good": sum(row["good"] for row in rows) / requested / len(rows),
        "full_answers": sum(row["good"] == requested for row in rows) / len(rows),
        **{name: sum(row[name] for row in rows) / max(1, returned) for name in ("faults", "mixtures")},
    }


def sampled(post: Post, seeds: list[str], radius: float) -> dict[str, float]:
    """Returns shares of EACH molecules per seed from /sampling, the share that is read, and the median similarity."""
    texts = post("/sampling", {"sequences": seeds, "num_molecules": EACH, "scaled_radius": radius})["generated"]
    rows = [judge(seed, found) for seed, found in zip(seeds, texts, strict=True)]
    flat = [(seed, text) for seed, found in zip(seeds, texts, strict=True) for text in found]
    read = _rows(post, "/embedding", "embeddings", [text for _, text in flat])
    pairs = [(Chem.MolFromSmiles(seed), Chem.MolFromSmiles(text)) for seed, text in flat]
    similarities = [molecules.similar(a, b) for a, b in pairs if b is not None]
    return {
        "scaled_radius": radius,
        "seeds": len(seeds),
        **_shares(rows, EACH),
        "read": sum(row is not None for row in read) / len(read),
        "similarity_median": statistics.median(similarities),
    }


def scale(post: Post, seed: str, deviation: float, noise: int) -> dict[str, float]:
    """Decodes POINTS points with normal noise around a molecule, as published client-side loops do."""
    state, draw = latent_space.hidden(post, [seed])[0], random.Random(noise)
    texts = latent_space.decode(post, [[v + deviation * draw.gauss(0, 1) for v in state] for _ in range(POINTS)])
    valid = [m for m in map(molecules.canonical, texts) if m]
    return {"deviation": deviation, "points": POINTS, "valid": len(valid) / POINTS, "distinct": len(set(valid))}


def interpolated(post: Post, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Decodes STEPS points on the line between the molecules of each pair.

    Returns averages over the pairs: the number of distinct molecules, and the rank correlations of the step with the
    similarity to the first molecule (negative) and to the last.
    """
    rows = []
    for first, last in pairs:
        a, b = latent_space.hidden(post, [first, last])
        points = [[(1 - t) * x + t * y for x, y in zip(a, b)] for t in (step / (STEPS - 1) for step in range(STEPS))]
        found = [
            (step, Chem.MolFromSmiles(text))
            for step, text in enumerate(latent_space.decode(post, points))
            if molecules.canonical(text)
        ]
        ends = [[molecules.similar(m, Chem.MolFromSmiles(end)) for _, m in found] for end in (first, last)]
        steps = [step for step, _ in found]
        rows.append((len({Chem.MolToSmiles(m) for _, m in found}), *(spearman(steps, end) for end in ends)))
    return {
        "pairs": len(pairs),
        "steps": STEPS,
        **dict(zip(("distinct", "to_first", "to_last"), map(statistics.fmean, zip(*rows)))),
    }


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Returns the rank correlation, with mean ranks for ties, or 0 if one side is constant."""
    x, y = _ranks(a), _ranks(b)
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    order, ranks = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values)
    for _, group in itertools.groupby(enumerate(order), key=lambda pair: values[pair[1]]):
        members = list(group)
        for _, index in members:
            ranks[index] = statistics.fmean(place for place, _ in members)
    return ranks


def embedding(post: Post, drugs: list[str]) -> dict[str, float]:
    """Compares the vectors of drugs.

    Returns the rank correlation of cosine and Tanimoto similarity over all pairs of drugs, and the share of VARIANTS
    that are each other's nearest neighbours among the drugs.
    """
    known = [(s, v) for s, v in zip(drugs, _rows(post, "/embedding", "embeddings", drugs), strict=True) if v]
    prints = [molecules.MORGAN.GetFingerprint(Chem.MolFromSmiles(s)) for s, _ in known]
    units = [_unit(v) for _, v in known]
    pairs = list(itertools.combinations(range(len(known)), 2))
    cosines = [_dot(units[i], units[j]) for i, j in pairs]
    nearest = []
    for pair in VARIANTS:
        vectors = _rows(post, "/embedding", "embeddings", list(pair))
        if all(vectors):
            a, b = map(_unit, vectors)
            same = {molecules.canonical(s, False) for text in pair for s in text.split(".")}
            others = [u for u, (s, _) in zip(units, known) if molecules.canonical(s, False) not in same]
            nearest.append(all(_dot(a, b) >= _dot(variant, u) for variant in (a, b) for u in others))
    return {
        "drugs": len(known),
        "rank_correlation": spearman(cosines, [DataStructs.TanimotoSimilarity(prints[i], prints[j]) for i, j in pairs]),
        "variants_nearest": sum(nearest) / len(VARIANTS),
    }


def _unit(vector: Sequence[float]) -> list[float]:
    norm = sum(v * v for v in vector) ** 0.5
    return [v / norm for v in vector]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b))

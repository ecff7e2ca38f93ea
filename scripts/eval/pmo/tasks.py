"""The PMO tasks as objectives of built-in terms, but for those that need 2D pharmacophores or BertzCT."""

from __future__ import annotations

from scripts.eval.pmo import oracles as o


def similarity(smiles: str, fingerprint: str, modifier: dict | None = None) -> dict:
    term = {"name": "similarity", "smiles": smiles, "fingerprint": fingerprint}
    return term if modifier is None else {**term, "modifier": modifier}


def clipped(upper: float) -> dict:
    return {"type": "clipped", "upper": upper}


def gaussian(name: str, mu: float, sigma: float, kind: str = "gaussian", **about: str) -> dict:
    return {"name": name, "modifier": {"type": kind, "mu": mu, "sigma": sigma}, **about}


def mean(*terms: dict) -> dict:
    return {"combine": "geometric_mean", "terms": list(terms)}


TPSA = o.of_molecule(o.SITAGLIPTIN, o.TPSA)
LOGP = o.of_molecule(o.SITAGLIPTIN, o.LOGP)

COMPOSED: dict[str, object] = {
    "albuterol_similarity": similarity(o.ALBUTEROL, "FCFP4", clipped(0.75)),
    "amlodipine_mpo": mean(similarity(o.AMLODIPINE, "ECFP4"), gaussian("rings", 3, 0.5)),
    "celecoxib_rediscovery": similarity(o.CELECOXIB, "ECFP4"),
    "fexofenadine_mpo": mean(
        gaussian("TPSA", 90, 10, "max_gaussian"),
        gaussian("LogP", 4, 1, "min_gaussian"),
        similarity(o.FEXOFENADINE, "AP", clipped(0.8)),
    ),
    "isomers_c7h8n2o2": {"name": "isomer", "formula": "C7H8N2O2"},
    "isomers_c9h10n2o2pf2cl": {"name": "isomer", "formula": "C9H10N2O2PF2Cl"},
    "median1": {"name": "median", "smiles": [o.CAMPHOR, o.MENTHOL], "fingerprint": "ECFP4"},
    "median2": {"name": "median", "smiles": [o.TADALAFIL, o.SILDENAFIL], "fingerprint": "ECFP6"},
    "mestranol_similarity": similarity(o.MESTRANOL, "AP", clipped(0.75)),
    "osimertinib_mpo": mean(
        gaussian("TPSA", 100, 10, "max_gaussian"),
        gaussian("LogP", 1, 1, "min_gaussian"),
        similarity(o.OSIMERTINIB, "FCFP4", clipped(0.8)),
        similarity(o.OSIMERTINIB, "ECFP6", {"type": "min_gaussian", "mu": 0.85, "sigma": 0.1}),
    ),
    "perindopril_mpo": mean(similarity(o.PERINDOPRIL, "ECFP4"), gaussian("aromatic_rings", 2, 0.5)),
    "qed": "QED",
    "ranolazine_mpo": mean(
        gaussian("TPSA", 95, 20, "max_gaussian"),
        gaussian("LogP", 7, 1, "max_gaussian"),
        similarity(o.RANOLAZINE, "AP", clipped(0.7)),
        gaussian("element_count", 1, 1, element="F"),
    ),
    "sitagliptin_mpo": mean(
        similarity(o.SITAGLIPTIN, "ECFP4", {"type": "gaussian", "mu": 0, "sigma": 0.1}),
        gaussian("LogP", LOGP, 0.2),
        gaussian("TPSA", TPSA, 5),
        {"name": "isomer", "formula": "C16H15F6N5O"},
    ),
    "thiothixene_rediscovery": similarity(o.THIOTHIXENE, "ECFP4"),
    "troglitazone_rediscovery": similarity(o.TROGLITAZONE, "ECFP4"),
    "zaleplon_mpo": mean(similarity(o.ZALEPLON, "ECFP4"), {"name": "isomer", "formula": "C19H17N3O2"}),
}

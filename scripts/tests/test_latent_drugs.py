"""scripts.eval.latent_drugs against scripted answers."""

from __future__ import annotations

import pytest

from scripts.eval import latent_drugs
from scripts.eval.service import Refused

SEED = "CCOc1ccccc1"


def test_an_answer_counts_new_molecules_at_or_above_the_floor() -> None:
    # The seed in another spelling, a duplicate, a dissimilar molecule, and invalid texts.
    texts = ["c1ccccc1OCC", "CCCOc1ccccc1", "C(CC)Oc1ccccc1", "CCN", "C1CC", "CCN.Cl"]
    assert latent_drugs.judge(SEED, texts, 0.5) == {"returned": 6, "good": 1, "faults": 1, "mixtures": 1}
    assert latent_drugs.judge(SEED, texts)["good"] == 3


@pytest.mark.parametrize(
    "found, seed, is_worse",
    [
        ("C[CH]C", SEED, True),
        ("C[CH]C", "[CH2]C", False),
        ("CN(C)(C)(C)C", SEED, True),
        ("CCC", SEED, False),
        ("CC[N+](=O)[O-]", SEED, False),
        ("C1CC", SEED, True),
    ],
)
def test_radicals_and_impossible_valences_are_faults_unless_the_seed_has_them(
    found: str, seed: str, is_worse: bool
) -> None:
    assert latent_drugs.has_new_faults(found, seed) is is_worse


def test_an_unreadable_molecule_is_not_reconstructed() -> None:
    def post(path: str, body: dict) -> dict:
        if path == "/hidden":
            if any("Xe" in s for s in body["sequences"]):
                raise Refused("no such token")
            return {"hiddens": [[[float(len(s))]] for s in body["sequences"]]}
        return {"generated": ["OCC" if row[0][0] == 3 else "CC" for row in body["hiddens"]]}

    figures = latent_drugs.round_trip(post, ["CCO", "CCCN", "[Xe]", "CNC"])
    assert figures == {"molecules": 4, "read": 0.75, "exact": 0.25, "exact_no_stereo": 0.25, "valid": 0.75}


def test_default_figures_are_shares_of_the_requested_molecules() -> None:
    found = ["CCCOc1ccccc1", "CCOc1ccccc1C", SEED, "CCCOc1ccccc1"]
    figures = latent_drugs.defaults(
        lambda path, body: {"generated": found if body == {"smi": SEED} else []}, [SEED, "CCN"]
    )
    assert figures["returned"] == 0.2 and figures["full_answers"] == 0 and figures["faults"] == 0
    near = latent_drugs.judge(SEED, found, latent_drugs.FLOOR)["good"]
    assert figures["good"] == pytest.approx(near / 20)


def test_a_sample_is_valid_if_embedding_accepts_it() -> None:
    def post(path: str, body: dict) -> dict:
        if path == "/sampling":
            return {"generated": [["CCCOc1ccccc1", SEED], ["CCN", "C1CC"]]}
        if "C1CC" in body["sequences"]:
            raise Refused("no molecule")
        return {"embeddings": [[0.0] for _ in body["sequences"]]}

    figures = latent_drugs.sampled(post, [SEED, "CCO"], 0.7)
    assert figures["read"] == 0.75 and figures["good"] == pytest.approx(2 / 20)


def test_points_around_a_state_have_the_requested_deviation() -> None:
    states: list[list[float]] = []

    def post(path: str, body: dict) -> dict:
        if path == "/hidden":
            return {"hiddens": [[[5.0] * 100]]}
        states.extend(row[0] for row in body["hiddens"])
        return {"generated": ["C" * (i % 7) for i in range(len(body["hiddens"]))]}

    figures = latent_drugs.scale(post, SEED, 1.5, 3)
    assert figures == {"deviation": 1.5, "points": 50, "valid": 0.84, "distinct": 6}
    spread = [v - 5 for row in states for v in row]
    assert (sum(v * v for v in spread) / len(spread)) ** 0.5 == pytest.approx(
        1.5, rel=0.05
    )  # 5000 numbers: 5 standard deviations


def test_interpolation_includes_both_ends() -> None:
    chain = ("CCCCCCCCO", "CCCCCCCN")

    def post(path: str, body: dict) -> dict:
        if path == "/hidden":
            return {"hiddens": [[[0.0]], [[1.0]]]}
        assert body["hiddens"][0] == [[0.0]] and body["hiddens"][-1] == [[1.0]] and len(body["hiddens"]) == 50
        return {"generated": [chain[row[0][0] > 0.5] for row in body["hiddens"]]}

    figures = latent_drugs.interpolated(post, [chain])
    assert figures["distinct"] == 2 and figures["to_first"] < -0.8 and figures["to_last"] > 0.8


def test_rank_correlation_with_ties() -> None:
    assert latent_drugs.spearman([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    assert latent_drugs.spearman([1, 2, 2, 3], [4, 3, 3, 0]) == pytest.approx(-1)
    assert latent_drugs.spearman([1, 1, 1], [1, 2, 3]) == 0


def test_embeddings_that_follow_the_fingerprints_correlate() -> None:
    from scripts.eval import molecules

    def post(path: str, body: dict) -> dict:
        return {
            "embeddings": [
                [float(b) for b in molecules.MORGAN.GetFingerprint(latent_drugs.Chem.MolFromSmiles(s))]
                for s in body["sequences"]
            ]
        }

    figures = latent_drugs.embedding(post, list(latent_drugs.NAMED.values()))
    assert figures["drugs"] == len(latent_drugs.NAMED) and figures["rank_correlation"] > 0.9
    assert figures["variants_nearest"] >= 5 / 6  # Stereoisomers have one fingerprint without stereo.

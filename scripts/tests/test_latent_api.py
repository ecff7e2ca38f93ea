"""The latent-space API on the shipped model and a real Triton, with requests of its published clients."""

from __future__ import annotations

import json

import numpy as np
import pytest
import requests
import tritonclient.grpc as grpc
from rdkit import Chem
from waiting import PATIENCE, at_once

from scripts.eval.latent_drugs import spearman
from scripts.eval.molecules import similar

IBUPROFEN, CAFFEINE = "CC(Cc1ccc(cc1)C(C(=O)O)C)C", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"


@pytest.fixture(scope="module")
def url(stack) -> str:
    return stack.urls["latent"]


def post(url: str, path: str, **body):
    return requests.post(url + path, json=body, timeout=PATIENCE)


def generated(url: str, path: str, **body) -> list:
    answer = post(url, path, **body)
    assert answer.status_code == 200, answer.text
    assert list(answer.json()) == ["generated"]
    return answer.json()["generated"]


def test_ready_has_the_published_body(url: str) -> None:
    assert requests.get(f"{url}/v1/health/ready", timeout=PATIENCE).json()["status"] == "ready"


def test_embeddings_have_512_numbers_and_differ_between_molecules(url: str) -> None:
    answer = post(url, "/embedding", sequences=[IBUPROFEN, CAFFEINE, "CC(C)Cc1ccc(cc1)C(C)C(=O)O"])
    vectors = np.array(answer.json()["embeddings"])
    assert vectors.shape == (3, 512)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-4)
    assert np.linalg.norm(vectors[0] - vectors[1]) > 0.1 * np.linalg.norm(vectors[0])


def test_an_answer_of_hidden_is_a_request_of_decode(url: str) -> None:
    hidden = post(url, "/hidden", sequences=[IBUPROFEN, CAFFEINE]).json()
    assert np.shape(hidden["hiddens"]) == (2, 1, 512) and hidden["mask"] == [[True], [True]]
    assert len(generated(url, "/decode", **hidden)) == 2
    squeezed = np.squeeze(np.array(hidden["hiddens"]))  # as the published interpolation does
    between = [[list(0.5 * (squeezed[0] + squeezed[1]))]]
    assert len(generated(url, "/decode", hiddens=between, mask=[[True]])) == 1


def test_points_between_two_molecules_decode_to_intermediate_molecules(url: str) -> None:
    first, last = np.array(post(url, "/hidden", sequences=[IBUPROFEN, CAFFEINE]).json()["hiddens"])
    points = [((1 - t) * first + t * last).tolist() for t in np.linspace(0, 1, 50)]
    found = generated(url, "/decode", hiddens=points, mask=[[True]] * 50)
    assert list(map(Chem.CanonSmiles, [found[0], found[-1]])) == list(map(Chem.CanonSmiles, [IBUPROFEN, CAFFEINE]))
    assert len(set(found)) >= 15
    for end, way in ((IBUPROFEN, -1), (CAFFEINE, 1)):
        similarities = [similar(Chem.MolFromSmiles(smiles), Chem.MolFromSmiles(end)) for smiles in found]
        assert spearman(range(50), similarities) * way > 0.9


def test_a_hidden_state_does_not_depend_on_its_neighbours(url: str) -> None:
    alone = np.array(post(url, "/hidden", sequences=[CAFFEINE]).json()["hiddens"][0])
    among = np.array(post(url, "/hidden", sequences=[IBUPROFEN, CAFFEINE, "CC(=O)O"]).json()["hiddens"][1])
    np.testing.assert_allclose(alone, among, atol=1e-3)


@pytest.mark.parametrize("beam", [1, 3])
def test_sampling(url: str, beam: int) -> None:
    lists = generated(url, "/sampling", sequences=[IBUPROFEN, CAFFEINE], num_molecules=3, beam_size=beam, seed=1)
    assert [len(row) for row in lists] == [3, 3]
    assert lists == generated(
        url, "/sampling", sequences=[IBUPROFEN, CAFFEINE], num_molecules=3, beam_size=beam, seed=1
    )


def test_generate_with_all_nine_fields_as_the_sample_client_sends_them(url: str) -> None:
    for algorithm in ("CMA-ES", "none"):
        found = generated(
            url,
            "/generate",
            smi=IBUPROFEN,
            algorithm=algorithm,
            num_molecules=5,
            property_name="QED",
            minimize=False,
            min_similarity=0.2,
            particles=20,
            iterations=3,
            scaled_radius=1.0,
        )
        molecules = {Chem.CanonSmiles(s) for s in found}
        assert len(found) == len(molecules) == 5 and Chem.CanonSmiles(IBUPROFEN) not in molecules
        assert algorithm == "none" or all(
            similar(Chem.MolFromSmiles(s), Chem.MolFromSmiles(IBUPROFEN)) >= 0.2 for s in found
        )


def test_a_stream_ends_with_the_answer(url: str) -> None:
    body = {"smi": IBUPROFEN, "iterations": 3, "particles": 10, "min_similarity": 0.1, "seed": 3}
    with requests.post(f"{url}/generate", json={**body, "stream": True}, stream=True, timeout=PATIENCE) as answer:
        events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith(b"data: ")]
    assert len(events) == 4 and all(0 < e["evaluations"] <= 10 * (i + 1) for i, e in enumerate(events[:3]))
    assert events[-1]["generated"] == generated(url, "/generate", **body)


def test_errors_name_the_field_and_the_row(url: str) -> None:
    answer = post(url, "/hidden", sequences=[CAFFEINE, "c1ccccc"])
    assert answer.status_code == 422
    assert [d["loc"] for d in answer.json()["detail"]] == [["body", "sequences", 1]]
    answer = requests.post(f"{url}/decode", data='{"hiddens": [[[NaN]]], "mask": [[true]]}', timeout=PATIENCE)
    assert answer.status_code == 422 and answer.json()["detail"][0]["loc"][:3] == ["body", "hiddens", 0]


def test_ten_optimisations_at_once_share_the_decoder(stack, url: str) -> None:
    """Triton executes rows of several requests together."""
    triton = grpc.InferenceServerClient(stack.triton)

    def executions() -> int:
        (entry,) = triton.get_inference_statistics("latent_decoder").model_stats
        return entry.execution_count

    def run(number: int) -> None:
        generated(
            url,
            "/generate",
            smi=IBUPROFEN,
            iterations=4,
            particles=30,
            min_similarity=0.1,
            num_molecules=1,
            seed=number,
        )

    before = executions()
    for number in range(3):
        run(number)
    one, before = (executions() - before) / 3, executions()
    at_once(*(lambda number=number: run(number) for number in range(3, 13)))
    assert executions() - before < 8 * one


def test_filters(url: str) -> None:
    """The seed and half of what it leads to fail the filters: none of them is a result, all are counted."""
    body = {
        "smi": "CC(C)Cc1ccc(N=Nc2ccc(O)c(O)c2)cc1",
        "min_similarity": 0.2,
        "iterations": 10,
        "seed": 1,
        "filters": [{"name": "PAINS", "max": 0}, {"name": "SA", "max": 2.5}, {"name": "novelty", "min": 0.1}],
        "scores": ["PAINS", "SA", "Brenk", "novelty"],
    }
    answer = requests.post(url + "/generate", json=body, timeout=PATIENCE).json()
    assert len(answer["generated"]) == 10
    for molecule in answer["generated"]:
        scores = molecule["scores"]
        assert scores["PAINS"] == 0 and scores["SA"] <= 2.5 and scores["novelty"] >= 0.1
        assert len(molecule.get("alerts", [])) == scores["Brenk"]
    left_out = answer["left_out"]
    assert left_out["molecules"] > 10 and left_out["filters"][0]["molecules"] > 1
    assert requests.post(url + "/generate", json=body, timeout=PATIENCE).json() == answer

"""Each shipped model does its job: answers of the APIs, checked by RDKit for Python. A broken model, whose answers have
the right form but make no sense, fails these tests."""

from __future__ import annotations

import statistics

import pytest
import requests
from everyday import MOLECULES, canonical, drawn, holds, qed, similarity
from pictures import content, data_url
from waiting import PATIENCE

IBUPROFEN = MOLECULES["ibuprofen"]


def post(url: str, path: str, **body: object) -> dict:
    answer = requests.post(url + path, json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


# Latent-space molecules.


@pytest.fixture(scope="module")
def latent(stack) -> str:
    return stack.urls["latent"]


def test_everyday_molecules_are_reconstructed_from_their_hidden_states(latent: str) -> None:
    hidden = post(latent, "/hidden", sequences=list(MOLECULES.values()))
    decoded = post(latent, "/decode", **hidden)["generated"]
    wrong = {
        name: back for (name, smiles), back in zip(MOLECULES.items(), decoded) if canonical(back) != canonical(smiles)
    }
    assert len(wrong) <= 2, wrong


def test_samples_are_molecules_like_their_seeds(latent: str) -> None:
    seeds = list(MOLECULES.values())[:10]
    near, far = (
        post(latent, "/sampling", sequences=seeds, num_molecules=10, scaled_radius=radius, seed=1)["generated"]
        for radius in (0.7, 1.5)
    )
    rows = [text for row in near for text in row]
    valid = [text for text in rows if canonical(text)]
    assert len(valid) >= 0.95 * len(rows) and len(set(map(canonical, valid))) >= 0.7 * len(valid)
    assert likeness(seeds, near) > 2 * likeness(seeds[::-1], near), (
        "samples are no more like their own seed than like another"
    )
    assert likeness(seeds, near) > likeness(seeds, far), "a larger radius gives no other molecules"


def likeness(seeds: list[str], rows: list[list[str]]) -> float:
    return statistics.mean(similarity(seed, text) for seed, row in zip(seeds, rows) for text in row if canonical(text))


def test_the_default_request_keeps_the_documented_similarity(latent: str) -> None:
    """The documented defaults with nothing but a molecule: CMA-ES for QED at similarity 0.7, at most ten molecules."""
    rows = [post(latent, "/generate", smi=IBUPROFEN, seed=seed)["generated"] for seed in range(3)]
    for row in rows:
        assert len(row) <= 10 and len(set(map(canonical, row))) == len(row)
        assert all(similarity(IBUPROFEN, text) >= 0.7 for text in row), row
        assert [qed(text) for text in row] == sorted((qed(text) for text in row), reverse=True)
    assert any(rows)


@pytest.mark.parametrize("start", ["vanillin", "celecoxib", "haloperidol"])
def test_an_optimisation_gains_qed(latent: str, start: str) -> None:
    smiles = MOLECULES[start]
    found = post(
        latent, "/generate", smi=smiles, min_similarity=0.3, particles=30, iterations=20, num_molecules=5, seed=1
    )["generated"]
    assert len(found) == 5
    assert all(similarity(smiles, text) >= 0.3 for text in found)
    assert qed(found[0]) > qed(smiles) + 0.1


# Masked-template molecules.


@pytest.fixture(scope="module")
def masked(stack) -> str:
    return stack.urls["masked"]


def test_de_novo_molecules_are_distinct_and_drug_like(masked: str) -> None:
    answer = post(masked, "/generate", num_molecules=40, rounds=0, attempts=1, seed=1)
    texts = [molecule["smiles"] for molecule in answer["molecules"]]
    assert len(texts) >= 36 and all(map(canonical, texts))
    assert len(set(map(canonical, texts))) >= 0.95 * len(texts)
    assert statistics.mean(map(qed, texts)) > 0.6


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("[1*]c1ccccc1.[2*]C1CCNCC1", ("c1ccccc1", "C1CCNCC1")),
        ("[*]c1ccc(Cl)cc1.[*{8-15}]", ("c1ccc(Cl)cc1",)),
    ],
)
def test_the_parts_of_a_template_are_kept(masked: str, template: str, parts: tuple[str, ...]) -> None:
    answer = post(masked, "/generate", smiles=template, num_molecules=10, seed=1)
    texts = [molecule["smiles"] for molecule in answer["molecules"]]
    assert len(texts) == 10 and len(set(texts)) == 10
    assert all(holds(text, part) for text in texts for part in parts), texts


# Drawings.


@pytest.mark.parametrize("name", MOLECULES)
def test_drawings_are_read(chat_url: str, name: str) -> None:
    question = content("What is the SMILES of this molecule?", data_url(drawn(MOLECULES[name])))
    answer = post(
        chat_url,
        "/v1/chat/completions",
        model="retort/molecule-reader-v8",
        temperature=0,
        messages=[{"role": "user", "content": question}],
    )
    assert answer["choices"][0]["message"]["content"] == f"The SMILES is {canonical(MOLECULES[name])}."


# Embedding and ranking.

ANSWERS = {
    "Which medicine lowers fever and eases pain?": "Paracetamol reduces fever and relieves mild pain.",
    "Who wrote the Origin of Species?": "Charles Darwin published his theory of evolution in 1859.",
    "What is the boiling point of water?": "At sea level, water boils at 100 degrees Celsius.",
    "How do plants make sugar?": (
        "In photosynthesis, leaves use sunlight to turn carbon dioxide and water into glucose."
    ),
    "How can I get back into my account?": "If you forgot your password, click the reset link on the login page.",
    "Which metal is liquid at room temperature?": (
        "Mercury melts at minus 39 degrees, so it flows like water in a warm room."
    ),
    "What causes tides in the sea?": "The gravity of the Moon pulls on the oceans and makes them rise and fall.",
    "Where can I see the Mona Lisa?": "Leonardo's portrait of Lisa Gherardini hangs in the Louvre in Paris.",
    "How is bread made to rise?": "Yeast ferments the dough, and the gas it gives off makes it swell.",
    "Which hormone regulates blood sugar?": "Insulin from the pancreas lets cells take up glucose from the blood.",
}
"""Questions and their answers; each answer is wrong for the nine other questions."""


@pytest.mark.parametrize(
    ("model", "modes"),
    [
        ("retort/minilm-embedqa-v2", ("query", "passage")),
        ("sentence-transformers/all-MiniLM-L6-v2", (None, None)),
    ],
)
def test_the_nearest_passage_answers_the_question(embedding_url: str, model: str, modes: tuple) -> None:
    queries, passages = (
        vectors(embedding_url, model, list(ANSWERS), modes[0]),
        vectors(embedding_url, model, list(ANSWERS.values()), modes[1]),
    )
    for number, query in enumerate(queries):
        scores = [sum(a * b for a, b in zip(query, passage)) for passage in passages]
        assert scores.index(max(scores)) == number, list(ANSWERS)[number]


def vectors(url: str, model: str, texts: list[str], mode: str | None) -> list[list[float]]:
    more = {"input_type": mode} if mode else {}
    return [row["embedding"] for row in post(url, "/v1/embeddings", model=model, input=texts, **more)["data"]]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_the_first_ranked_passage_answers_the_question(ranking_url: str, number: int) -> None:
    query, passages = list(ANSWERS)[number], [{"text": text} for text in ANSWERS.values()]
    ranked = post(
        ranking_url, "/v1/ranking", model="retort/rankqa-minilm-v2", query={"text": query}, passages=passages
    )["rankings"]
    assert ranked[0]["index"] == number
    assert ranked[0]["logit"] > ranked[1]["logit"] + 1

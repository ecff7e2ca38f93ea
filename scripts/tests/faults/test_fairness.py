"""The largest requests within the documented limits are served, and small requests are served beside them."""

from __future__ import annotations

import contextlib
import json
import threading

import requests
from attacks import EMBEDDING, RANKING, Bystander, connect, head, single
from waiting import PATIENCE, at_once, wait_for

# The waits of the small requests are printed but not tested: they depend on the load of the machine.


def test_small_requests_beside_a_large_embedding(stack) -> None:
    """All single texts sent during a list of the maximum length are answered long before the list."""
    ended = threading.Event()
    results = []

    def large() -> None:
        body = {"model": EMBEDDING, "input": [f"Pain {i}" for i in range(8192)]}
        results.append(requests.post(stack.urls["embedding"] + "/v1/embeddings", json=body, timeout=PATIENCE))
        ended.set()

    client = threading.Thread(target=large, daemon=True)
    with single(stack) as bystander:
        client.start()
        wait_for("the list is embedded", ended.is_set)
    assert not bystander.failures, bystander.failures[:5]
    assert results[0].status_code == 200 and len(results[0].json()["data"]) == 8192, results[0].text[:300]
    assert len(bystander.waits) >= 5, "the bystander waited for the list"
    print(f"{len(bystander.waits)} single requests meanwhile, p99 {bystander.p99():.2f} s")


def test_allowed_rankings_are_all_served(stack) -> None:
    body = {
        "model": RANKING,
        "query": {"text": "Which drug eases pain?"},
        "passages": [{"text": f"Drug {i}."} for i in range(512)],
    }
    url = stack.urls["ranking"] + "/v1/ranking"
    small = Bystander(stack.urls["ranking"], "/v1/ranking", {**body, "passages": body["passages"][:2]})
    with small:
        answers = at_once(*[lambda: requests.post(url, json=body, timeout=PATIENCE) for _ in range(4)])
    assert [a.status_code for a in answers] == [200] * 4
    assert not small.failures, small.failures[:5]
    print(f"{len(small.waits)} small rankings meanwhile, p99 {small.p99():.2f} s")


def test_small_latent_requests_beside_searches(stack) -> None:
    search = {
        "smi": "CC(Cc1ccc(cc1)C(C(=O)O)C)C",
        "iterations": 5,
        "particles": 60,
        "num_molecules": 5,
        "min_similarity": 0.4,
    }
    url = stack.urls["latent"] + "/generate"
    with Bystander(stack.urls["latent"], "/hidden", {"sequences": ["CCO"]}) as small:
        answers = at_once(*[lambda: requests.post(url, json=search, timeout=PATIENCE) for _ in range(8)])
    assert [a.status_code for a in answers] == [200] * 8
    assert not small.failures, small.failures[:5]
    print(f"{len(small.waits)} small latent requests meanwhile, p99 {small.p99():.2f} s")


def test_small_samplings_beside_the_largest_searches(stack) -> None:
    """The maximum number of concurrent searches, each with the largest documented numbers; their clients disconnect."""
    search = {
        "smi": "CC(Cc1ccc(cc1)C(C(=O)O)C)C",
        "iterations": 1000,
        "particles": 1000,
        "num_molecules": 100,
        "min_similarity": 0.4,
    }
    body = json.dumps(search).encode()
    small = Bystander(stack.urls["latent"], "/sampling", {"sequences": ["CC(Cc1ccc(cc1)C(C(=O)O)C)C"]})
    with contextlib.ExitStack() as searches:
        for _ in range(64):
            client = searches.enter_context(connect(stack.urls["latent"]))
            client.sendall(head("/generate", len(body)) + body)
        with small:
            wait_for("small requests are answered", lambda: len(small.waits) >= 30)
    assert not small.failures, small.failures[:5]
    print([round(w, 2) for w in small.waits])
    print(f"{len(small.waits)} small samplings meanwhile, p99 {small.p99():.2f} s")


def test_many_masks_are_served_beside_small_templates(stack) -> None:
    url = stack.urls["masked"] + "/generate"
    many = {"smiles": ".".join(["[*{6-6}]"] * 60), "num_molecules": 5, "attempts": 1}
    with Bystander(stack.urls["masked"], "/generate", {"smiles": "[*{5-5}]", "num_molecules": 1}) as small:
        answers = at_once(*[lambda: requests.post(url, json=many, timeout=PATIENCE) for _ in range(2)])
    assert all(a.status_code in (200, 400) for a in answers), [a.text[:300] for a in answers]
    assert not small.failures, small.failures[:5]
    print(f"{len(small.waits)} small templates meanwhile, p99 {small.p99():.2f} s")

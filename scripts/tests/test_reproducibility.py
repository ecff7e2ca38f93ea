"""The molecule models and APIs answer with the same bytes whatever else is running: rows in other batches, other
requests at the same time, in front of a real Triton."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import requests
import tritonclient.grpc as grpc
from everyday import MOLECULES
from servers import ROOT
from waiting import PATIENCE

VOCABULARY = {
    entry: len(Path(ROOT / "model_repository" / entry / "vocab.txt").read_text().splitlines())
    for entry in ("latent_encoder", "masked")
}
PAD, MASK = 0, 4
Row = dict[str, np.ndarray]
"""The inputs of one row by name, without the batch. Ids are padded to the longest row of a batch."""


def latent_encoder(random: np.random.Generator) -> Row:
    length = int(np.exp(random.uniform(0, np.log(129))))
    ids = random.integers(4, VOCABULARY["latent_encoder"], length)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def hidden(random: np.random.Generator) -> np.ndarray:
    return (random.normal(size=(1, 512)) / 3).astype(np.float32)


def latent_decoder(random: np.random.Generator) -> Row:
    temperature = np.array([random.choice([0, 1])], np.float32)
    return {"hiddens": hidden(random), "temperature": temperature, "seed": random.integers(0, 2**62, 1)}


def latent_decoder_beam(random: np.random.Generator) -> Row:
    return {"hiddens": hidden(random), "beam_size": random.integers(1, 9, 1)}


def masked(random: np.random.Generator) -> Row:
    ids = random.integers(30, VOCABULARY["masked"], random.integers(3, 24))
    ids[random.random(len(ids)) < 0.5] = MASK
    settings = {name: random.uniform(0, 1.5, 1).astype(np.float32) for name in ("temperature", "noise", "gamma")}
    settings["gamma"] *= random.integers(0, 2)
    settings["temperature"] += np.float32(0.1)
    return {
        "input_ids": np.array([1, *ids, 2]),
        "step_size": random.integers(1, 4, 1),
        **settings,
        "seed": random.integers(0, 2**62, 1),
    }


ENTRIES = {f.__name__: f for f in (latent_encoder, latent_decoder, latent_decoder_beam, masked)}


def results(client: grpc.InferenceServerClient, entry: str, rows: list[Row]) -> list[list[bytes]]:
    """Returns all outputs of each row, without padding."""
    inputs = []
    for name in rows[0]:
        width = max(row[name].shape[-1] for row in rows)
        arrays = [
            np.pad(row[name], [*[(0, 0)] * (row[name].ndim - 1), (0, width - row[name].shape[-1])]) for row in rows
        ]
        batch = np.stack(arrays)
        kind = "FP32" if batch.dtype == np.float32 else "INT64"
        inputs.append(grpc.InferInput(name, batch.shape, kind))
        inputs[-1].set_data_from_numpy(batch)
    answer = client.infer(entry, inputs)
    arrays = [answer.as_numpy(output.name) for output in answer.get_response().outputs]
    found = []
    for i, row in enumerate(rows):
        beams = int(row["beam_size"][0]) if "beam_size" in row else None
        own = [array[i, :beams] if beams else array[i] for array in arrays]
        found.append([(trimmed(a) if a.dtype == np.int64 else a).tobytes() for a in own])
    return found


def trimmed(ids: np.ndarray) -> np.ndarray:
    """Returns token ids [..., tokens] without columns of padding at the end."""
    used = np.flatnonzero((ids != PAD).reshape(-1, ids.shape[-1]).any(axis=0))
    return ids[..., : used[-1] + 1 if len(used) else 0]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_row_has_the_same_result_in_every_batch_bit_for_bit(stack, entry):
    random = np.random.default_rng(1)
    rows = [ENTRIES[entry](random) for _ in range(40)]
    client = grpc.InferenceServerClient(stack.triton)
    alone = [results(client, entry, [row])[0] for row in rows]
    assert len({tuple(row) for row in alone}) > len(rows) / 2
    for size in (2, 3, 7, 16, len(rows)):
        order = random.permutation(len(rows)).tolist()
        for chosen in (order[i : i + size] for i in range(0, len(order), size)):
            together = results(client, entry, [rows[i] for i in chosen])
            assert together == [alone[i] for i in chosen]


SMILES = list(MOLECULES.values())
SEARCH = {"smi": SMILES[:2], "particles": 12, "iterations": 6, "min_similarity": 0.3, "seed": 5}
HIDDENS = [[np.random.default_rng(seed).normal(0, 0.6, 512).round(3).tolist()] for seed in range(6)]
"""Points so far from molecules that most are decoded again, by beam search and with drawn tokens."""
REQUESTS: dict[str, tuple[str, str, dict]] = {
    "CMA-ES": ("latent", "/generate", SEARCH | {"include_scores": True, "evaluated": True}),
    "CMA-ES without a molecule": ("latent", "/generate", {"smi": [], "particles": 12, "iterations": 5, "seed": 6}),
    "around": ("latent", "/generate", SEARCH | {"algorithm": "none", "num_molecules": 8}),
    "sampling": ("latent", "/sampling", {"sequences": SMILES[2:6], "num_molecules": 5, "seed": 5}),
    "beams": ("latent", "/sampling", {"sequences": SMILES[:2], "num_molecules": 4, "beam_size": 4, "seed": 5}),
    "decode": ("latent", "/decode", {"hiddens": HIDDENS, "mask": [[True]] * len(HIDDENS)}),
    "embedding": ("latent", "/embedding", {"sequences": SMILES}),
    "de novo": ("masked", "/generate", {"num_molecules": 30, "seed": 5, "evaluated": True}),
    "motif": ("masked", "/generate", {"smiles": "[*]c1ccccc1.[*{8-14}]", "num_molecules": 20, "gamma": 0.3, "seed": 5}),
    "rounds": ("masked", "/generate", {"num_molecules": 20, "rounds": 3, "unique": True, "evaluated": True, "seed": 5}),
}


def ask(stack, name: str) -> bytes:
    api, path, body = REQUESTS[name]
    answer = requests.post(stack.urls[api] + path, json=body, timeout=PATIENCE)
    assert answer.status_code == 200 and "X-Retort-Unfinished" not in answer.headers, answer.text
    return answer.content


def last_event(stack, name: str) -> bytes:
    """Returns the answer at the end of the request's stream."""
    api, path, body = REQUESTS[name]
    answer = requests.post(stack.urls[api] + path, json=body | {"stream": True}, timeout=PATIENCE)
    return answer.content.strip().split(b"\n\n")[-1].removeprefix(b"data: ")


def test_answers_do_not_depend_on_what_else_is_running(stack):
    """Each request alone, then all at once beside other requests of random lengths."""
    alone = {name: ask(stack, name) for name in REQUESTS}
    done = threading.Event()

    def other_load(number: int) -> None:
        random = np.random.default_rng(number)
        while not done.is_set():
            size = int(random.integers(1, 11))
            chosen = random.choice(SMILES, size).tolist()
            count = {"num_molecules": size}
            for api, path, body in (
                ("latent", "/sampling", {"sequences": chosen, **count, "scaled_radius": 1.5}),
                ("masked", "/generate", {"smiles": f"[*{{{size}-{2 * size}}}]", **count}),
            ):
                assert requests.post(stack.urls[api] + path, json=body, timeout=PATIENCE).status_code in (200, 503, 429)

    with ThreadPoolExecutor(4 + len(REQUESTS)) as pool:
        load = [pool.submit(other_load, number) for number in range(3)]
        try:
            together = {name: pool.submit(ask, stack, name) for name in REQUESTS}
            streams = {name: pool.submit(last_event, stack, name) for name in ("CMA-ES", "de novo", "rounds")}
            for name, answer in together.items():
                assert answer.result() == alone[name], name
            for name, answer in streams.items():
                assert answer.result() == alone[name], f"{name}, as a stream"
        finally:
            done.set()
        for one in load:
            one.result()

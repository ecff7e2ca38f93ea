"""The raw tensors of the shipped embedding and ranking models, for programs that call Triton directly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as grpc
from tritonclient.utils import InferenceServerException

MODELS = ("minilm_embed", "minilm_embed_qa")
RANKER = "minilm_rank_qa"
TESTDATA = Path(__file__).parent / "testdata"
# Vectors and logits by PyTorch in fp32. The models store the same weights in int8.
REFERENCE = {
    m: json.loads((TESTDATA / f"{file}.json").read_text())["cases"] for m, file in zip(MODELS, ("minilm", "minilm_qa"))
}
PAIRS = json.loads((TESTDATA / "minilm_rank_qa.json").read_text())["cases"]
LOGIT_ERROR = 2e-4
"""Tolerance of a logit: 5e-5 for the reference's four decimals, and 1e-4 for another order of summation (export.py
allows no more). int8 storage adds nothing, as the reference has the stored weights. Measured: 3e-5."""


def inputs(rows: list[list[int]], firsts: list[int] | None = None) -> list[grpc.InferInput]:
    """Rows of token ids, padded to the longest: the three int64 tensors of a BERT model. firsts: of pairs, the length
    of each first segment."""
    width = max(map(len, rows))
    ids, mask, segments = (np.zeros((len(rows), width), np.int64) for _ in range(3))
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
        segments[i, (firsts[i] if firsts else width) : len(row)] = 1
    tensors = []
    for name, array in (("input_ids", ids), ("attention_mask", mask), ("token_type_ids", segments)):
        tensors.append(grpc.InferInput(name, array.shape, "INT64"))
        tensors[-1].set_data_from_numpy(array)
    return tensors


def embed(client, model: str, rows: list[list[int]]) -> np.ndarray:
    return client.infer(model, inputs(rows)).as_numpy("sentence_embedding")


@pytest.mark.parametrize("model", MODELS)
def test_vectors_equal_the_torch_reference(shipped, model):
    for case in REFERENCE[model]:
        vector = embed(shipped, model, [case["ids"]])[0]
        assert vector.shape == (384,)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert float(vector @ np.array(case["vector"])) > 0.998, case["text"]


LENGTHS = (*range(3, 36), 63, 64, 65, 127, 128, 129, 200, 255, 256)
"""Tokens of rows: every remainder of the widths of vector registers."""


@pytest.mark.parametrize("model", (*MODELS, RANKER))
def test_a_row_has_the_same_result_in_every_batch_bit_for_bit(shipped, model):
    random = np.random.default_rng(1)
    rows = [random.integers(1000, 30000, length).tolist() for length in LENGTHS]
    firsts = [len(row) // 3 + 1 for row in rows] if model == RANKER else None

    def results(chosen: list[int]) -> np.ndarray:
        tensors = inputs([rows[i] for i in chosen], [firsts[i] for i in chosen] if firsts else None)
        return shipped.infer(model, tensors).as_numpy("logits" if firsts else "sentence_embedding")

    alone = np.concatenate([results([i]) for i in range(len(rows))])
    assert len(np.unique(alone, axis=0)) == len(rows)
    for size in (2, 3, 5, 16, len(rows)):
        order = random.permutation(len(rows)).tolist()
        for i in range(0, len(rows), size):
            chosen = order[i : i + size]
            np.testing.assert_array_equal(results(chosen), alone[chosen])


def test_logits_equal_the_torch_reference(shipped):
    rows, firsts, wanted = ([case[k] for case in PAIRS] for k in ("ids", "first", "logit"))
    together = shipped.infer(RANKER, inputs(rows, firsts)).as_numpy("logits")[:, 0]
    assert np.argsort(together).tolist() == np.argsort(wanted).tolist()
    np.testing.assert_allclose(together, wanted, rtol=0, atol=LOGIT_ERROR)


def test_configurations_have_the_parameters_of_the_gateway(shipped):
    modes = {}
    for model in MODELS:
        config = shipped.get_model_config(model).config
        parameters = {name: value.string_value for name, value in config.parameters.items()}
        assert parameters["retort_api"] == "embedding"
        assert parameters["max_model_len"] == "256"
        assert parameters["dimensions"] == {"one": "384", "two": "32-384"}[parameters["modes"]]
        modes[parameters["model_id"]] = parameters["modes"]
    assert modes == {"sentence-transformers/all-MiniLM-L6-v2": "one", "retort/minilm-embedqa-v2": "two"}


def test_wrong_tensors_are_refused_by_name(shipped):
    right = inputs([[101, 102]])
    with pytest.raises(InferenceServerException, match="expected 3 inputs but got 2"):
        shipped.infer(MODELS[0], right[:2])
    wrong = grpc.InferInput("input_ids", [1, 2], "INT32")
    wrong.set_data_from_numpy(np.array([[101, 102]], np.int32))
    with pytest.raises(InferenceServerException, match="input_ids"):
        shipped.infer(MODELS[0], [wrong, *right[1:]])
    with pytest.raises(InferenceServerException, match="batch-size must be <= 256"):
        shipped.infer(MODELS[0], inputs([[101, 102]] * 257))

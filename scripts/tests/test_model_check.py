"""`retort model check` on a real Triton: the included models pass, and a wrong entry fails in the row that names it."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path

import graphs
import numpy as np
import pytest
import requests
from onnx import TensorProto, helper, numpy_helper
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE

from scripts.train.selfies_vae import entries

TOKENIZER = ROOT / "tokenizers/testdata/wordpiece-cased/tokenizer.json.gz"
AUTOENCODER = ROOT / "scripts/tests/testdata/selfies_vae"
ORACLE = ROOT / "scripts/tests/testdata/oracles/toy_docking"
SHIPPED = (
    "minilm_embed",
    "minilm_embed_qa",
    "minilm_rank_qa",
    "latent_encoder",
    "latent_decoder_beam",
    "masked",
    "molecule_reader",
)
WIDTH = 8


def check(entry: str, triton: str, repository: Path, *options: str) -> tuple[dict[str, dict], int]:
    """The rows of a report by property, and the exit status."""
    run = subprocess.run(
        [ROOT / "bin/retort", "model", "check", entry, "--json"]
        + ["--triton", triton, "--repository", str(repository), *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.stdout, run.stderr
    report = json.loads(run.stdout)
    assert report["passed"] == (run.returncode == 0), run.stderr
    return {row["property"]: row for row in report["rows"]}, run.returncode


def failed(rows: dict[str, dict]) -> list[str]:
    return [name for name, row in rows.items() if row["result"] == "fail"]


@pytest.mark.parametrize("entry", SHIPPED)
def test_the_included_models_pass(stack: Gateway, entry: str) -> None:
    rows, status = check(entry, stack.triton, ROOT / "model_repository")
    assert status == 0 and not failed(rows), rows


def parameters(**values: str) -> str:
    lines = [f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}' for key, value in values.items()]
    return "\n".join(lines) + "\n"


TEXT_INPUTS = """backend: "onnxruntime" max_batch_size: 16
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
  { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] } ]
"""


def embedder(repository: Path, name: str, wrong: str = "", **more: str) -> None:
    """An embedding model that sums the token ids of a text; wrong says what is wrong with it."""
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["known"]),
        helper.make_node("Cast", ["known"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Log", ["numbers"], ["logs"]) if wrong == "finite" else None,
        helper.make_node("ReduceSum", ["logs" if wrong == "finite" else "numbers", "one"], ["sum"], keepdims=1),
        helper.make_node("MatMul", ["sum", "weights"], ["vectors"]),
    ]
    last = "vectors"
    if wrong == "batch":
        nodes.append(helper.make_node("ReduceMean", ["vectors"], ["mean"], axes=[0], keepdims=1))
        nodes.append(helper.make_node("Sub", ["vectors", "mean"], ["centred"]))
        last = "centred"
    if wrong == "random":
        nodes.append(helper.make_node("RandomNormalLike", ["vectors"], ["noise"], dtype=TensorProto.FLOAT))
        nodes.append(helper.make_node("Add", ["vectors", "noise"], ["noisy"]))
        last = "noisy"
    dims: list[object] = ["batch", WIDTH]
    if wrong == "tensors":
        nodes.append(helper.make_node("Unsqueeze", [last, "one"], ["states"]))
        last, dims = "states", ["batch", 1, WIDTH]
    nodes.append(helper.make_node("Identity", [last], ["sentence_embedding"]))
    weights = np.linspace(1e-5, 2e-5, WIDTH, dtype=np.float32).reshape(1, WIDTH)
    graph = graphs.model(
        [node for node in nodes if node],
        [(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [("sentence_embedding", TensorProto.FLOAT, dims)],
        [numpy_helper.from_array(np.array([1]), "one"), numpy_helper.from_array(weights, "weights")],
    )
    shape = ", ".join(map(str, dims[1:]))
    config = TEXT_INPUTS + f'output [ {{ name: "sentence_embedding" data_type: TYPE_FP32 dims: [ {shape} ] }} ]\n'
    config += parameters(retort_api="embedding", model_id=f"tests/{name}", max_model_len="64", **more)
    folder = graphs.place(repository, name, graph, config)
    (folder / "tokenizer.json").write_bytes(gzip.decompress(TOKENIZER.read_bytes()))


# The tokens of a latent model that copies: hidden state and logits are the one-hot tokens.
TOKENS = ("[PAD]", "[BOS]", "[EOS]", "C", "N", "O", "(", ")", "=", "c", "1")
LENGTH = 12
SMALL = ("CCO", "CCN", "CC(C)O", "CC(=O)O", "c1ccccc1", "CC(N)=O", "CCCC", "NCCO", "Cc1ccccc1")


def copier(repository: Path, name: str, tokens: tuple[str, ...] = TOKENS, ids_above: int = 0) -> None:
    """A latent model of LENGTH vectors. Its decoder returns logits or, with ids_above, ids that are larger by it."""
    size = len(TOKENS)
    eye = numpy_helper.from_array(np.eye(size, dtype=np.float32), "eye")
    shape = f"dims: [ {LENGTH}, {size} ]"
    encoder = graphs.model(
        [helper.make_node("Gather", ["eye", "input_ids"], ["hiddens"])],
        [("input_ids", TensorProto.INT64, ["batch", LENGTH])],
        [("hiddens", TensorProto.FLOAT, ["batch", LENGTH, size])],
        [eye],
    )
    names = parameters(retort_api="latent", model_id=f"tests/{name}")
    folder = graphs.place(
        repository,
        f"{name}_encoder",
        encoder,
        f"""backend: "onnxruntime" max_batch_size: 16
input [ {{ name: "input_ids" data_type: TYPE_INT64 dims: [ {LENGTH} ] }} ]
output [ {{ name: "hiddens" data_type: TYPE_FP32 {shape} }} ]
"""
        + names
        + parameters(role="encoder", max_model_len=str(LENGTH - 2), special_tokens="bos_eos"),
    )
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    statistics = {"mean": [1 / size] * size * LENGTH, "sd": [0.3] * size * LENGTH, "radius": 0.15}
    (folder / "latent.json").write_text(json.dumps(statistics))
    offset = numpy_helper.from_array(np.array(ids_above), "offset")
    if ids_above:
        nodes = [
            helper.make_node("ArgMax", ["hiddens"], ["likeliest"], axis=2, keepdims=0),
            helper.make_node("Add", ["likeliest", "offset"], ["token_ids"]),
        ]
        output = ("token_ids", TensorProto.INT64, ["batch", LENGTH])
        declared = f'{{ name: "token_ids" data_type: TYPE_INT64 dims: [ {LENGTH} ] }}'
    else:
        nodes = [helper.make_node("Identity", ["hiddens"], ["logits"])]
        output = ("logits", TensorProto.FLOAT, ["batch", LENGTH, size])
        declared = f'{{ name: "logits" data_type: TYPE_FP32 {shape} }}'
    decoder = graphs.model(
        nodes, [("hiddens", TensorProto.FLOAT, ["batch", LENGTH, size])], [output], [offset] if ids_above else []
    )
    graphs.place(
        repository,
        f"{name}_decoder",
        decoder,
        f"""backend: "onnxruntime" max_batch_size: 16
input [ {{ name: "hiddens" data_type: TYPE_FP32 {shape} }} ]
output [ {declared} ]
"""
        + names
        + parameters(role="decoder"),
    )


def ranker(repository: Path, name: str) -> None:
    """A ranking model whose logit is the same for all pairs."""
    graph = graphs.model(
        [
            helper.make_node("Cast", ["attention_mask"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMax", ["numbers"], ["logits"], axes=[1], keepdims=1),
        ],
        [(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [("logits", TensorProto.FLOAT, ["batch", 1])],
    )
    config = TEXT_INPUTS + 'output [ { name: "logits" data_type: TYPE_FP32 dims: [ 1 ] } ]\n'
    config += parameters(retort_api="ranking", model_id=f"tests/{name}", max_model_len="64")
    folder = graphs.place(repository, name, graph, config)
    (folder / "tokenizer.json").write_bytes(gzip.decompress(TOKENIZER.read_bytes()))


def filler(repository: Path, name: str, token: str) -> None:
    """A masked model with the vocabulary of the included one that replaces every mask by the token."""
    source = ROOT / "model_repository/masked"
    vocabulary = [line.split("\t")[0] for line in (source / "vocab.txt").read_text().splitlines()]
    ids = ("batch", "tokens")
    controls = [(name, TensorProto.FLOAT, ["batch", 1]) for name in ("temperature", "noise", "gamma")]
    controls += [(name, TensorProto.INT64, ["batch", 1]) for name in ("step_size", "seed")]
    graph = graphs.model(
        [
            helper.make_node("Equal", ["input_ids", "mask"], ["masked"]),
            helper.make_node("Where", ["masked", "token", "input_ids"], ["token_ids"]),
        ],
        [("input_ids", TensorProto.INT64, ids), *controls],
        [("token_ids", TensorProto.INT64, ids)],
        [numpy_helper.from_array(np.array(vocabulary.index(t)), n) for n, t in (("mask", "[MASK]"), ("token", token))],
    )
    config = (source / "config.pbtxt").read_text().replace('name: "masked"\n', "")
    folder = graphs.place(repository, name, graph, config)
    for file in ("vocab.txt", "lengths.txt"):
        shutil.copy(source / file, folder)


UNSCORED = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(pb_utils.get_input_tensor_by_name(r, "smiles").as_numpy()) for r in requests]

    def answer(self, smiles):
        nothing = np.full((len(smiles), 1), np.nan, np.float32)
        return pb_utils.InferenceResponse([pb_utils.Tensor(name, nothing) for name in ("score", "affinity")])
"""

MUTE = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            sender.send(pb_utils.InferenceResponse([
                pb_utils.Tensor("text_output", np.array([b""], object)),
                pb_utils.Tensor("finish_reason", np.array([b"stop"], object)),
                pb_utils.Tensor("num_input_tokens", np.array([1], np.uint32)),
                pb_utils.Tensor("num_output_tokens", np.array([0], np.uint32)),
            ]), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""


def python_entry(source: Path, repository: Path, name: str, program: str) -> None:
    """A copy of an entry whose model is another program."""
    folder = repository / name
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("1", "*.md"))
    (folder / "1").mkdir()
    (folder / "1/model.py").write_text(program)
    config = folder / "config.pbtxt"
    config.write_text(config.read_text().replace(f'name: "{source.name}"\n', ""))


# entry -> the row that must fail, the text that its value must contain
WRONG = {
    "batch": ("vectors: alone as in a batch", ""),
    "finite": ("vectors: finite numbers", "sentence_embedding"),
    "random": ("vectors: repeatable", ""),
    "tensors": ("tensors", "sentence_embedding"),
    "misspelt": ("parameters and files", "default_mode"),
    "unloaded": ("loaded", "has loaded it"),
    "other_api": ("retort_api", "embeddings"),
    "tokens_encoder": ("decoding: token ids", "vocabulary"),
    "logits_decoder": ("parameters and files", "logits"),
    "role_encoder": ("parameters and files", "role"),
    "special_encoder": ("parameters and files", "special_tokens"),
    "same_logits": ("logits: differ between samples", "0"),
    "unmasks_nothing": ("filling: token ids", "answered token"),
    "opens_brackets": ("filling: validity", "0 of"),
    "unscored": ("scores: molecules with a score", "0 of"),
    "mute": ("answer: text", ""),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A Triton with models made here, and its repository."""
    repository = tmp_path_factory.mktemp("repository")
    embedder(repository, "sound")
    for wrong in ("batch", "finite", "random", "tensors"):
        embedder(repository, wrong, wrong)
    embedder(repository, "misspelt", default_mod="query")
    embedder(repository, "unloaded")
    (repository / "unloaded/1/model.onnx").write_text("no graph")
    embedder(repository, "other_api")
    config = repository / "other_api/config.pbtxt"
    config.write_text(config.read_text().replace('"embedding"', '"embeddings"'))
    copier(repository, "copier")
    copier(repository, "tokens", ids_above=100)
    copier(repository, "logits", TOKENS[:-1])
    copier(repository, "special")
    config = repository / "special_encoder/config.pbtxt"
    config.write_text(config.read_text().replace('"special_tokens"', '"special_token"'))
    copier(repository, "role")
    config = repository / "role_encoder/config.pbtxt"
    config.write_text(config.read_text().replace('"encoder"', '"encode"'))
    ranker(repository, "same_logits")
    filler(repository, "unmasks_nothing", "[MASK]")
    filler(repository, "opens_brackets", "(")
    python_entry(ORACLE, repository, "unscored", UNSCORED)
    python_entry(ROOT / "model_repository/molecule_reader", repository, "mute", MUTE)
    entries.write(AUTOENCODER, repository, "tests/selfies-vae", "vae")
    shutil.copytree(ORACLE, repository / ORACLE.name)
    with Triton(repository) as triton:
        yield triton, repository


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("molecules") / "small.smi"
    file.write_text("\n".join(SMALL))
    return str(file)


@pytest.mark.parametrize("entry", ["sound", ORACLE.name])
def test_a_sound_entry_passes(made, entry: str) -> None:
    triton, repository = made
    rows, status = check(entry, triton.url, repository)
    assert status == 0 and not failed(rows), rows


@pytest.mark.parametrize("entry", WRONG)
def test_a_wrong_entry_fails_in_the_row_that_names_it(made, small: str, entry: str) -> None:
    triton, repository = made
    rows, status = check(entry, triton.url, repository, "--molecules", small)
    row, text = WRONG[entry]
    assert status == 1 and failed(rows)[:1] == [row] and text in rows[row]["value"], rows


def test_a_model_that_returns_logits_of_all_tokens_from_several_vectors(made, small: str) -> None:
    triton, repository = made
    rows, status = check("copier_decoder", triton.url, repository, "--molecules", small)
    assert status == 0, failed(rows)
    assert rows["round trip"]["value"].startswith(f"{len(SMALL)} of {len(SMALL)} ")
    with Gateway(triton.url, repository, RETORT_LATENT_MODEL="tests/copier") as gateway:
        gateway.wait_ready("latent")
        hidden = post(gateway, "hidden", {"sequences": list(SMALL)})
        assert np.array(hidden["hiddens"]).shape == (len(SMALL), LENGTH, len(TOKENS))
        assert np.array(hidden["mask"]).shape == (len(SMALL), LENGTH)
        assert post(gateway, "decode", hidden)["generated"] == list(SMALL)
        assert gateway.stop() == 0, gateway.output()


def post(gateway: Gateway, path: str, body: dict) -> dict:
    answer = requests.post(f"{gateway.urls['latent']}/{path}", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    return answer.json()


def test_an_autoencoder_over_selfies_is_checked_and_searched(made) -> None:
    triton, repository = made
    rows, status = check("vae_encoder", triton.url, repository)
    assert status == 0, failed(rows)
    start = "Nc1ccccc1"
    with Gateway(triton.url, repository, RETORT_LATENT_MODEL="tests/selfies-vae") as gateway:
        gateway.wait_ready("latent")
        body = {"smi": start, "property_name": "QED", "iterations": 10, "particles": 20, "min_similarity": 0, "seed": 1}
        best = post(gateway, "generate", {**body, "include_scores": True})["generated"][0]
        assert best["score"] > qed(start) + 0.1 and best["smiles"] != start, best
        assert gateway.stop() == 0, gateway.output()


def qed(molecule: str) -> float:
    command = [ROOT / "bin/retort", "describe", molecule, "--format", "jsonl"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(run.stdout)["qed"]

"""`retort model import --python`: architectures that Retort cannot build are exported and served, and every entry is
compared with the published code.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import decoders  # noqa: E402
import folders  # noqa: E402
from servers import ROOT, Gateway, Triton  # noqa: E402
from waiting import PATIENCE, wait_for  # noqa: E402

PYTHON = Path(os.environ.get("RETORT_EXPORT_PYTHON", ROOT / ".venv-export/bin/python"))
EXPORTED = ("electra", "albert", "deberta-v2")


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """Folders of published models, with expected.json."""
    folder = tmp_path_factory.mktemp("published")
    made = subprocess.run(
        [PYTHON, Path(__file__).parent / "checkpoints.py", folder], capture_output=True, text=True, timeout=PATIENCE
    )
    assert made.returncode == 0, made.stderr
    return folder


def run_import(folder: Path, api: str, name: str, repository: Path, *more: object) -> subprocess.CompletedProcess:
    command = [ROOT / "bin/retort", "model", "import", folder, "--api", api, "--id", f"tests/{name}", "--name", name]
    return subprocess.run(
        [*map(str, command), "--repository", str(repository), *map(str, more)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.fixture(scope="module")
def gateway(published, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    for family in EXPORTED:
        for api in ("embedding", "ranking"):
            done = run_import(published / f"{family}_{api}", api, f"{family}_{api}", repository, "--python", PYTHON)
            assert done.returncode == 0, done.stderr
            assert "equal to the published model" in done.stdout
    with Triton(repository) as triton, Gateway(triton.url, repository) as running:
        running.wait_ready("embedding", "ranking")
        wait_for(
            "all models are served",
            lambda: len(requests.get(f"{running.url}/v1/models", timeout=PATIENCE).json()["data"]) == 2 * len(EXPORTED),
            lambda: running.output() + triton.output(),
        )
        yield running


@pytest.mark.xdist_group("gateway")
@pytest.mark.parametrize("family", EXPORTED)
def test_exported_vectors_equal_those_of_the_published_code(gateway, published, family):
    expected = json.loads((published / "expected.json").read_text())[f"{family}_embedding"]
    modes = ["query", "passage"] if len(expected) == 2 else [None]
    for mode, vectors in zip(modes, expected, strict=True):
        answer = requests.post(
            f"{gateway.urls['embedding']}/v1/embeddings",
            json={"model": f"tests/{family}_embedding", "input": folders.TEXTS, "truncate": "END"}
            | ({"input_type": mode} if mode else {}),
            timeout=PATIENCE,
        )
        assert answer.ok, answer.text
        served = np.array([row["embedding"] for row in answer.json()["data"]])
        np.testing.assert_allclose(served, vectors, rtol=0, atol=5e-5)


@pytest.mark.xdist_group("gateway")
@pytest.mark.parametrize("family", EXPORTED)
def test_exported_logits_equal_those_of_the_published_code(gateway, published, family):
    expected = json.loads((published / "expected.json").read_text())[f"{family}_ranking"]
    body = {
        "model": f"tests/{family}_ranking",
        "query": {"text": folders.QUERY},
        "passages": [{"text": text} for text in folders.TEXTS],
        "truncate": "END",
    }
    answer = requests.post(f"{gateway.urls['ranking']}/v1/ranking", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    logits = {row["index"]: row["logit"] for row in answer.json()["rankings"]}
    np.testing.assert_allclose([logits[i] for i in range(len(expected))], expected, rtol=0, atol=1e-4)


def change_tokenizer(folder: Path) -> None:
    """tokenizer.json keeps the case of letters, the family's tokenizer does not."""
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"do_lower_case": True}))


def change_weights(folder: Path) -> None:
    done = subprocess.run([PYTHON, "-c", CHANGE, folder], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr


CHANGE = """
import sys, safetensors.torch as st
path = sys.argv[1] + "/model.safetensors"
tensors = st.load_file(path)
tensors["embeddings.word_embeddings.weight"] *= 1.1
st.save_file(tensors, path, {"format": "pt"})
"""


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_built_graph_equals_the_published_code(published, tmp_path, precision):
    more = ("--python", PYTHON, "--precision", precision)
    done = run_import(published / "bert_embedding", "embedding", "bert", tmp_path, *more)
    assert done.returncode == 0, done.stderr
    assert "equal to the published model for 14 rows" in done.stdout


def test_another_tokenizer_is_refused_with_the_text(published, tmp_path):
    folder = shutil.copytree(published / "bert_embedding", tmp_path / "bert")
    change_tokenizer(folder)
    repository = tmp_path / "repository"
    done = run_import(folder, "embedding", "bert", repository, "--python", PYTHON)
    assert done.returncode == 1
    assert "input_ids differ at token" in done.stderr and "as a query" in done.stderr, done.stderr
    assert list(repository.iterdir()) == []


def test_other_weights_are_refused_with_the_text(published, tmp_path):
    """The entry uses the ONNX graph of the folder, whose safetensors have changed since."""
    folder = shutil.copytree(published / "electra_embedding", tmp_path / "electra")
    first = run_import(folder, "embedding", "electra", tmp_path / "first", "--python", PYTHON)
    assert first.returncode == 0, first.stderr
    (folder / "onnx").mkdir()
    shutil.copy(tmp_path / "first/electra/1/model.onnx", folder / "onnx/model.onnx")
    change_weights(folder)
    repository = tmp_path / "repository"
    done = run_import(folder, "embedding", "electra", repository, "--python", PYTHON, "--weights", "onnx")
    assert done.returncode == 1
    assert "the output differs from that of the published code" in done.stderr and "text '" in done.stderr
    assert list(repository.iterdir()) == []


def test_code_of_the_folder_runs_only_if_trusted(published, tmp_path):
    folder = shutil.copytree(published / "electra_embedding", tmp_path / "custom")
    path = folder / "config.json"
    changed = {"model_type": "custom", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    (folder / "code.py").write_text(CODE.format(marker=str(tmp_path / "ran")))
    more = ("--python", PYTHON)
    done = run_import(folder, "embedding", "custom", tmp_path / "repository", *more)
    assert done.returncode == 1 and "config.json: auto_map" in done.stderr, done.stderr
    assert not (tmp_path / "ran").exists()
    done = run_import(folder, "embedding", "custom", tmp_path / "repository", *more, "--trust-remote-code")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ran").exists()


CODE = """
import pathlib
from transformers import ElectraConfig, ElectraModel
pathlib.Path({marker!r}).write_text("")
class Config(ElectraConfig):
    model_type = "custom"
class Model(ElectraModel):
    config_class = Config
"""


@pytest.mark.parametrize("family", ["qwen3", "qwen2", "gemma3", "mistral", "llama"])
def test_a_ranker_with_a_pair_template_equals_the_published_code(tmp_path, family):
    folder = folders.make(tmp_path / "source", family, "ranking")
    more = (*decoders.template_options(family, "ranking"), "--precision", "fp32", "--python", PYTHON)
    done = run_import(folder, "ranking", family, tmp_path / "repository", *more)
    assert done.returncode == 0, done.stderr
    assert "equal to the published model for 7 rows" in done.stdout


def test_special_tokens_that_tokenizer_config_json_adds_are_compared(tmp_path):
    """The form of intfloat/e5-mistral-7b-instruct: the vector is the state of an end token."""
    folder = folders.make(tmp_path / "source", "mistral", "embedding")
    path = folder / "tokenizer_config.json"
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "tokenizer_class": "LlamaTokenizer"}
    folders.write(path, json.loads(path.read_text()) | names | {"add_bos_token": True, "add_eos_token": True})
    more = ("--precision", "fp32", "--python", PYTHON)
    done = run_import(folder, "embedding", "mistral", tmp_path / "repository", *more)
    assert done.returncode == 0, done.stderr
    assert "equal to the published model for 14 rows" in done.stdout


def test_another_template_is_another_text(tmp_path):
    """The published code reads a template whose end has a token of the model as one text, too."""
    folder = folders.make(tmp_path / "source", "qwen3", "ranking")
    more = ("--pair-template", "{query}: {passage}<|im_end|>\nyes", "--precision", "fp32", "--python", PYTHON)
    done = run_import(folder, "ranking", "qwen3", tmp_path / "repository", *more)
    assert done.returncode == 0, done.stderr
    assert "equal to the published model for 7 rows" in done.stdout


def test_other_logits_of_a_language_model_are_refused(tmp_path):
    """The entry has the graph of a folder whose rows of yes and no have changed since."""
    folder = folders.make(tmp_path / "source", "qwen3", "ranking")
    first = run_import(folder, "ranking", "qwen3", tmp_path / "first", "--precision", "fp32")
    assert first.returncode == 0, first.stderr
    (folder / "onnx").mkdir()
    shutil.copy(tmp_path / "first/qwen3/1/model.onnx", folder / "onnx/model.onnx")
    path = folder / "tokenizer.json"
    vocabulary = json.loads(path.read_text())["model"]["vocab"]
    tensors = folders.weights("qwen3", "ranking")
    tensors["model.embed_tokens.weight"][vocabulary["yes"]] += 1
    folders.save(folder / "model.safetensors", tensors)
    repository = tmp_path / "repository"
    done = run_import(folder, "ranking", "qwen3", repository, "--python", PYTHON, "--weights", "onnx")
    assert done.returncode == 1
    assert "the output differs from that of the published code" in done.stderr, done.stderr
    assert list(repository.iterdir()) == []


@pytest.mark.parametrize("api", ["embedding", "ranking"])
@pytest.mark.parametrize(
    ("family", "key"), [("qwen2_bidirectional", "is_causal false"), ("llama_bidirectional", "model_type llama_bidirec")]
)
def test_a_model_that_only_its_own_code_computes_is_not_compared(tmp_path, family, key, api):
    folder = folders.make(tmp_path / "source", family, api)
    repository = tmp_path / "repository"
    more = (*decoders.template_options(family, api), "--python", PYTHON)
    done = run_import(folder, api, family, repository, *more)
    assert done.returncode == 1
    assert f"config.json: {key}" in done.stderr and "no code to compare with" in done.stderr, done.stderr
    assert list(repository.iterdir()) == []
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": {"AutoModel": "code.Model"}}))
    done = run_import(folder, api, family, repository, *more)
    assert done.returncode == 1
    assert f"config.json: {key}" in done.stderr and "--trust-remote-code runs it" in done.stderr, done.stderr
    assert list(repository.iterdir()) == []


def test_a_bidirectional_ranker_equals_the_code_of_its_folder(tmp_path):
    folder = folders.make(tmp_path / "source", "llama_bidirectional", "ranking")
    path = folder / "config.json"
    names = {"AutoConfig": "code.Config", "AutoModelForSequenceClassification": "code.Ranker"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"auto_map": names}))
    described = {"model_max_length": folders.LONGEST, "tokenizer_class": "PreTrainedTokenizerFast"}
    folders.write(folder / "tokenizer_config.json", described)
    (folder / "code.py").write_text(BIDIRECTIONAL)
    more = ("--precision", "fp32", "--python", PYTHON, "--trust-remote-code")
    done = run_import(folder, "ranking", "bidirectional", tmp_path / "repository", *more)
    assert done.returncode == 0, done.stderr
    assert "equal to the published model for 7 rows" in done.stdout


# As in nvidia/llama-nemotron-rerank-1b-v2: every token attends to all, and the mean of the states is projected.
BIDIRECTIONAL = """
import torch
from transformers import LlamaConfig, LlamaModel, LlamaPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput
class Config(LlamaConfig):
    model_type = "llama_bidirec"
    def __init__(self, temperature=1.0, **more):
        super().__init__(**more)
        self.temperature = temperature
class Ranker(LlamaPreTrainedModel):
    config_class = Config
    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.score = torch.nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()
    def forward(self, input_ids, attention_mask, **more):
        everything = torch.zeros(1, 1, input_ids.shape[1], input_ids.shape[1])
        states = self.model(input_ids=input_ids, attention_mask=everything).last_hidden_state
        return SequenceClassifierOutput(logits=self.score(states.mean(1)) / self.config.temperature)
"""


def test_without_python_the_message_names_it(published, tmp_path):
    done = run_import(published / "electra_embedding", "embedding", "electra", tmp_path / "repository")
    assert done.returncode == 1
    assert 'config.json: model_type "electra"' in done.stderr and "--python" in done.stderr, done.stderr

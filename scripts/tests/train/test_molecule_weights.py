"""The weights of the molecule models in their entries, and the graphs that are made of them."""

import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import safetensors.torch
import torch
from onnx import numpy_helper

from scripts.lint import manifest
from scripts.train import entry_network, stored
from scripts.train.latent import weights as latent
from scripts.train.masked import weights as masked
from scripts.train.masked.vocabulary import BOS, EOS, MASK, SPECIALS

SHIPPED = manifest.REPOSITORY


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The graphs of the shipped weights."""
    repository = tmp_path_factory.mktemp("repository")
    for name, files in {
        "masked": ["vocab.txt", stored.WEIGHTS, stored.CONFIG],
        "latent_encoder": [stored.WEIGHTS, stored.CONFIG],
        "latent_decoder": [],
        "latent_decoder_beam": [],
    }.items():
        (repository / name).mkdir()
        for file in files:
            shutil.copy(SHIPPED / name / file, repository / name)
    masked.write_graph(repository / "masked")
    latent.write_graphs(*(repository / f"latent_{role}" for role in ("encoder", "decoder", "decoder_beam")))
    return repository


def graph(repository: Path, name: str) -> Path:
    return repository / name / "1" / "model.onnx"


def content(path: Path) -> Counter:
    """Returns how often a graph has each constant and each kind of node, those of nested graphs included."""
    counts: Counter = Counter()

    def count(part: onnx.GraphProto) -> None:
        for tensor in part.initializer:
            array = numpy_helper.to_array(tensor)
            name = "" if tensor.name.startswith("constant_") else tensor.name
            counts[name, str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).hexdigest()] += 1
        for node in part.node:
            counts[node.op_type] += 1
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    count(attribute.g)

    count(onnx.load(path).graph)
    return counts


def test_the_weights_of_the_encoder_make_its_shipped_graph(made):
    assert graph(made, "latent_encoder").read_bytes() == graph(SHIPPED, "latent_encoder").read_bytes()


STATES = np.random.default_rng(1).standard_normal((8, 1, 512)).astype(np.float32) / 3
TEMPLATES = np.full((6, 14), MASK)
TEMPLATES[:, 0], TEMPLATES[:, -1] = BOS, EOS


def column(*values: float, kind: type = np.float32) -> np.ndarray:
    return np.array(values, kind)[:, None]


@pytest.mark.parametrize(
    ("name", "feeds"),
    [
        (
            "latent_decoder",
            {
                "hiddens": STATES,
                "temperature": column(0, 0, 0, 0, 1, 1, 1, 1),
                "seed": column(*range(8), kind=np.int64),
            },
        ),
        ("latent_decoder_beam", {"hiddens": STATES[:3], "beam_size": column(1, 2, 4, kind=np.int64)}),
        (
            "masked",
            {
                "input_ids": TEMPLATES,
                "temperature": np.full((6, 1), 1, np.float32),
                "noise": np.full((6, 1), 0.5, np.float32),
                "gamma": column(0, 0, 0, 0.3, 0.3, 0.3),
                "step_size": column(1, 1, 2, 1, 1, 2, kind=np.int64),
                "seed": column(*range(6), kind=np.int64),
            },
        ),
    ],
)
def test_the_weights_make_the_shipped_graph(name, feeds, made):
    """Equal constants, and equal bits in the outputs. The shipped files list constants and nodes in another order."""
    shipped, again = graph(SHIPPED, name), graph(made, name)
    assert content(again) == content(shipped)
    answers = [onnxruntime.InferenceSession(path).run(None, feeds) for path in (shipped, again)]
    for want, got in zip(*answers, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("entry", "build"), [("masked", masked.build), ("latent_encoder", latent.build)])
def test_rounded_weights_round_to_themselves(entry, build):
    network, ranges, config = entry_network.load_exactly(SHIPPED / entry, build)
    before = safetensors.torch.load_file(SHIPPED / entry / stored.WEIGHTS)
    after = entry_network.served_tensors(network, ranges)
    assert before.keys() == after.keys() and len(ranges) == len(config["ranges"]) > 0
    for name, value in before.items():
        if name.endswith(stored.STEP):
            torch.testing.assert_close(after[name], value, rtol=1e-15, atol=0)
        else:
            assert torch.equal(after[name], value), name


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (stored.WEIGHTS, None, "model.safetensors: No such file"),
        (stored.WEIGHTS, b"version https://git-lfs.github.com/spec/v1", "model.safetensors: .*header"),
        (stored.WEIGHTS, {"token.weight.step": torch.ones(2)}, "token.weight.step: step sizes without a weight"),
        (stored.WEIGHTS, {"a": torch.ones(3), "a.step": torch.ones(2)}, "a.step: step sizes do not fit"),
        (
            stored.WEIGHTS,
            {"token.weight": torch.ones(2)},
            "model.safetensors: .* do not fit: head.bias is missing, not .1623,.",
        ),
        (stored.CONFIG, None, "config.json: .*No such file"),
        (stored.CONFIG, b"[" * 100_000, "config.json: "),
        (stored.CONFIG, b"[]", "config.json: an object is expected"),
        (stored.CONFIG, b'{"shape": {"vocabulary": 9, "depth": 3}}', "config.json: .*'depth'"),
        (stored.CONFIG, b'{"shape": {"vocabulary": 9, "width": -1}}', "config.json: "),
        (stored.CONFIG, b'{"shape": {"vocabulary": 9, "width": 8000000}}', "model.safetensors: .* do not fit: "),
        (stored.CONFIG, b'{"shape": {"vocabulary": 9, "heads": 0}}', "config.json: ZeroDivisionError"),
        (
            stored.CONFIG,
            b'{"shape": {"vocabulary": 9, "layers": 16000000}}',
            "config.json: .*more than 10,000 parameter",
        ),
        ("vocab.txt", b"C\n", "vocab.txt: .*the first lines must be"),
        ("vocab.txt", b"\xff", "vocab.txt: 'utf-8'"),
        ("vocab.txt", "\n".join([*SPECIALS, "C"]).encode(), "vocab.txt: 6 tokens, but the weights are for 1623"),
    ],
)
def test_a_wrong_file_of_an_entry_is_named(file, content, message, tmp_path):
    for name in (stored.WEIGHTS, stored.CONFIG, "vocab.txt"):
        shutil.copy(SHIPPED / "masked" / name, tmp_path)
    if content is None:
        (tmp_path / file).unlink()
    elif isinstance(content, dict):
        safetensors.torch.save_file(content, tmp_path / file)
    else:
        (tmp_path / file).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        masked.load(tmp_path)


@pytest.mark.parametrize(
    "ranges",
    [
        None,
        [],
        {"layers.9.attention.q": [0, 1]},
        {"layers.0.attention.q": [0]},
        {"layers.0.attention.q": [float("nan"), 1]},
        {"layers.0.attention.q": [0, float("inf")]},
        {"layers.0.attention.q": [1, 2]},
    ],
)
def test_wrong_ranges_are_named(ranges, tmp_path):
    for name in (stored.WEIGHTS, "vocab.txt"):
        shutil.copy(SHIPPED / "masked" / name, tmp_path)
    config = json.loads((SHIPPED / "masked" / stored.CONFIG).read_text())
    (tmp_path / stored.CONFIG).write_text(json.dumps({**config, "ranges": ranges}))
    with pytest.raises(ValueError, match="config.json: ranges: "):
        masked.write_graph(tmp_path)


@pytest.mark.parametrize("unit", [None, 0, float("nan"), "2.2", True])
def test_a_wrong_unit_is_named(unit, tmp_path):
    for name in (stored.WEIGHTS, "vocab.txt"):
        shutil.copy(SHIPPED / "latent_encoder" / name, tmp_path)
    config = json.loads((SHIPPED / "latent_encoder" / stored.CONFIG).read_text())
    (tmp_path / stored.CONFIG).write_text(json.dumps({**config, "unit": unit}))
    with pytest.raises(ValueError, match="config.json: unit must be a finite positive number"):
        latent.write_graphs(tmp_path, tmp_path, tmp_path)

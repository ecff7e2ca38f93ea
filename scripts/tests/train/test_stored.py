"""The weights of an entry in safetensors, as a stranger may have written them."""

import json

import pytest
import safetensors.torch
import torch
from torch import nn

from scripts.train import checkpoint, stored

LINEAR = {
    "weight": torch.tensor([[1, -2, 3], [4, 5, -6]], dtype=torch.int8),
    "weight.step": torch.tensor([[0.5], [2.0]], dtype=torch.float64),
    "bias": torch.ones(2).half(),
}


def write(entry, tensors, config):
    safetensors.torch.save_file(tensors, entry / stored.WEIGHTS)
    (entry / stored.CONFIG).write_text(json.dumps(config))


def build(config):
    return nn.Linear(config["inputs"], config["outputs"])


def test_the_numbers_are_the_product_of_weight_and_step(tmp_path):
    write(tmp_path, LINEAR, {"inputs": 3, "outputs": 2})
    network, _ = stored.load(tmp_path, build, torch.float64)
    assert network.weight.tolist() == [[0.5, -1, 1.5], [8, 10, -12]] and network.bias.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight.step": None}, "weight has the type torch.int8, not a float or int8 with weight.step"),
        ({"bias": torch.ones(2, dtype=torch.int64)}, "bias has the type torch.int64"),
        ({"bias": torch.ones(2, dtype=torch.complex64)}, "bias has the type torch.complex64"),
        ({"bias": torch.ones(2, dtype=torch.bool)}, "bias has the type torch.bool"),
        ({"bias": torch.ones(2).to(torch.float8_e4m3fn)}, "bias has the type torch.float8_e4m3fn"),
        ({"bias": torch.tensor([1, torch.nan])}, "bias has a number that is not finite"),
        ({"bias": torch.tensor([1, 1e300], dtype=torch.float64)}, "bias has a number that is not finite"),
        ({"weight.step": torch.tensor([[torch.inf], [1.0]])}, "weight has a number that is not finite"),
        ({"weight.step": torch.ones(2, 1, dtype=torch.int8)}, "weight.step: step sizes do not fit: torch.int8"),
        ({"weight.step": torch.ones(4, 2, 3)}, r"weight.step: step sizes do not fit: torch.float32 \(4, 2, 3\)"),
        ({"weight.step.step": torch.ones(1)}, "weight.step.step: step sizes without a weight"),
        ({"bias": None}, "1 weights do not fit: bias is missing"),
        ({"more": torch.ones(1)}, "1 weights do not fit: more is .1,., not known"),
        ({"bias": torch.tensor(1.0)}, "1 weights do not fit: bias is .., not .2,."),
    ],
)
def test_a_wrong_tensor_is_named(change, message, tmp_path):
    tensors = {name: value for name, value in (LINEAR | change).items() if value is not None}
    write(tmp_path, tensors, {"inputs": 3, "outputs": 2})
    with pytest.raises(ValueError, match=f"{stored.WEIGHTS}: .*{message}"):
        stored.load(tmp_path, build)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "shape.json: "),
        ({"shape.json": b"{"}, "shape.json: "),
        ({"shape.json": b"[]"}, "shape.json: an object is expected"),
        ({"shape.json": b"{}"}, "run: .*no weights.safetensors"),
        ({"shape.json": b"{}", checkpoint.WEIGHTS: b"cut off"}, "run: .*header"),
        ({"shape.json": b"{}", checkpoint.WEIGHTS: safetensors.torch.save(LINEAR)}, "shape.json: KeyError: 'inputs'"),
        (
            {"shape.json": b'{"inputs": 4, "outputs": 2}', checkpoint.WEIGHTS: safetensors.torch.save(LINEAR)},
            "run: 2 weights do not fit: weight is .2, 3., not .2, 4.",
        ),
    ],
)
def test_a_wrong_file_of_a_run_is_named(files, message, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    for name, content in files.items():
        (run / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        stored.load_run(run, build)


def test_a_network_that_does_not_fit_gets_no_memory(tmp_path):
    places = []

    def watched(config):
        network = build(config)
        places.append(network.weight.device.type)
        return network

    write(tmp_path, LINEAR, {"inputs": 1000, "outputs": 1000})
    with pytest.raises(ValueError, match="2 weights do not fit: bias is .2,., not .1000,."):
        stored.load(tmp_path, watched)
    assert places == ["meta"]


@pytest.mark.parametrize("size", [-1, 0.5, "3", None, [], 10**12, 10**30])
def test_a_wrong_size_is_named(size, tmp_path):
    write(tmp_path, LINEAR, {"inputs": size, "outputs": 2})
    with pytest.raises(ValueError, match=f"{stored.CONFIG}: |{stored.WEIGHTS}: 1 weights do not fit: weight is"):
        stored.load(tmp_path, build)

"""`retort model import --api chat`: a real Triton serves the entry, with a scripted stand-in for the vLLM backend.

The answers of the stand-in are the inputs that it received. `make test-engine` has vLLM itself.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from pictures import drawing
from servers import ROOT, Gateway, Triton, add_backend
from waiting import PATIENCE

CHAT = ROOT / "orchestrator/chat"
TEMPLATES = CHAT / "prompt/testdata/templates"
MARKS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]


def published(folder: Path, **config: object) -> Path:
    """A folder with the files of Qwen2.5-VL that the import reads, and a file in place of its weights."""
    config = {
        "model_type": "qwen2_5_vl",
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "max_position_embeddings": 4096,
        "image_token_id": MARKS.index("<|image_pad|>"),
        "vision_config": {},
        **config,
    }
    tokens = [{"id": i, "content": mark, "special": True} for i, mark in enumerate(MARKS)]
    settings = {"do_sample": True, "temperature": 0.1, "top_k": 1, "repetition_penalty": 1.05}
    folder.mkdir()
    for name, value in {
        "config.json": config,
        "preprocessor_config.json": {},
        "tokenizer.json": {"added_tokens": tokens},
        "tokenizer_config.json": {"eos_token": "<|im_end|>"},
        "chat_template.json": {"chat_template": (TEMPLATES / "qwen2-vl.jinja").read_text()},
        "generation_config.json": settings,
    }.items():
        (folder / name).write_text(json.dumps(value))
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def run_import(folder: Path, repository: Path, *more: str) -> subprocess.CompletedProcess:
    command = [ROOT / "bin/retort", "model", "import", folder, "--kind", "chat", "--id", "tests/qwen", *more]
    return subprocess.run([*command, "--repository", repository], capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory) -> Iterator[Gateway]:
    repository = tmp_path_factory.mktemp("models")
    folder = published(tmp_path_factory.mktemp("source") / "qwen")
    done = run_import(folder, repository)
    assert done.returncode == 0, done.stderr
    backends = add_backend(tmp_path_factory.mktemp("backends"), "vllm", CHAT / "testdata/scripted/model.py")
    with Triton(repository, RETORT_TRITON_BACKENDS=str(backends)) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("chat")
        yield gateway


PROMPT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
    "<|vision_start|><|image_pad|><|vision_end|>What is < |image_pad|>?<|im_end|>\n<|im_start|>assistant\n"
)


def test_the_engine_receives_the_models_prompt_and_settings(gateway: Gateway) -> None:
    content = [
        {"type": "image_url", "image_url": {"url": drawing(40, 30)}},
        {"type": "text", "text": "What is <|image_pad|>?"},
    ]
    body = {"model": "tests/qwen", "messages": [{"role": "user", "content": content}], "max_tokens": 9, "top_k": 5}
    answer = requests.post(gateway.urls["chat"] + "/v1/chat/completions", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    inputs = json.loads(answer.json()["choices"][0]["message"]["content"])
    assert inputs["text_input"] == [PROMPT]
    assert inputs["image"] == [[40, 30]]
    wanted = {"max_tokens": 9, "temperature": 0.1, "top_k": 5, "repetition_penalty": 1.05}
    assert inputs["sampling_parameters"] == wanted


def test_the_stack_interface(gateway: Gateway) -> None:
    content = [{"image": {"uri": drawing(40, 30)}}, "What is <|image_pad|>?"]
    body = {"model": "tests/qwen", "messages": [{"role": "user", "content": content}]}
    answer = requests.post(gateway.urls["chat"] + "/inference/chat_completion", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    inputs = json.loads(answer.json()["completion_message"]["content"])
    assert inputs["text_input"] == [PROMPT]
    assert inputs["sampling_parameters"]["temperature"] == 0


@pytest.mark.parametrize(
    "config, more, error",
    [
        ({"auto_map": {"AutoConfig": "x.X"}}, [], "config.json: auto_map names Python files"),
        ({"architectures": ["BertForMaskedLM"]}, [], "config.json: architectures has BertForMaskedLM"),
        ({}, ["--max-length", "9999"], "--max-length 9999 is more than the 4096 tokens of the model"),
        ({}, ["--engine-path", "weights"], '--engine-path "weights" is not an absolute path'),
        ({}, ["--precision", "int8"], "--precision is not for models of chat"),
    ],
)
def test_refusals_leave_nothing_behind(tmp_path: Path, config: dict, more: list[str], error: str) -> None:
    done = run_import(published(tmp_path / "qwen", **config), tmp_path / "models", *more)
    assert done.returncode == 1 and error in done.stderr and done.stdout == ""
    assert not (tmp_path / "models").exists()

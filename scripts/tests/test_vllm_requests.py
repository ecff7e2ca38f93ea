"""The requests of vLLM's own tests of its server, against the chat API's own port and a scripted model in a real
Triton, since the included model reads drawings only. vllm_calls.py has those of test_chat.py and test_completion.py;
those of test_tokenization.py are here, with the tokenizer's library as reference."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE

import tokenizers

MODEL = "test/scripted-vllm"
LENGTH = 512
CHAT = ROOT / "orchestrator/chat/testdata"
TOKENIZER = ROOT / "tokenizers/testdata/bpe-llama2/tokenizer.json.gz"
TURNS = [
    {"role": "user", "content": "Hi there!"},
    {"role": "assistant", "content": "Nice to meet you!"},
    {"role": "user", "content": "Can I ask a question? vllm1"},
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The chat API's own port in front of the scripted model, whose entry has a tokenizer."""
    repository = tmp_path_factory.mktemp("models")
    entry = shutil.copytree(CHAT / "models/scripted_vllm", repository / "scripted_vllm")
    (entry / "1").mkdir()
    shutil.copy(CHAT / "scripted/model.py", entry / "1")
    (entry / "tokenizer.json").write_bytes(gzip.decompress(TOKENIZER.read_bytes()))
    with (entry / "config.pbtxt").open("a") as config:
        config.write('parameters { key: "tokenizer" value { string_value: "tokenizer.json" } }\n')
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("chat")
        yield gateway.urls["chat"]


@pytest.fixture(scope="module")
def reference() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(gzip.decompress(TOKENIZER.read_bytes()).decode())


def post(url: str, path: str, **body: object) -> dict:
    answer = requests.post(f"{url}/{path}", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_chat_and_completion(url: str) -> None:
    python = ROOT / ".venv-openai" / "bin" / "python"
    script = Path(__file__).with_name("vllm_calls.py")
    run = subprocess.run([str(python), str(script), url], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert run.returncode == 0, run.stderr[-4000:]
    results = json.loads(run.stdout.splitlines()[-1])
    failures = {case: text for case, text in results.items() if text is not None}
    assert len(results) == 24 and not failures, "\n".join(f"{case}: {text}" for case, text in failures.items())


@pytest.mark.parametrize("special", [False, True])
def test_tokenize_completions(url: str, reference: tokenizers.Tokenizer, special: bool) -> None:
    prompt = "vllm1 This is a test prompt."
    tokens = reference.encode(prompt, add_special_tokens=special).ids
    result = post(url, "tokenize", add_special_tokens=special, model=MODEL, prompt=prompt)
    assert result == {"count": len(tokens), "max_model_len": LENGTH, "tokens": tokens, "token_strs": None}


@pytest.mark.parametrize("tools", [None, [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}]])
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("generation, continued", [(False, False), (False, True), (True, False)])
def test_tokenize_chat(
    url: str, reference: tokenizers.Tokenizer, generation: bool, continued: bool, special: bool, tools: object
) -> None:
    turns = [*TURNS, {"role": "assistant", "content": "Sure,"}] if continued else TURNS
    prompt = "".join(f"<{turn['role']}>{turn['content']}<end>" for turn in turns)
    prompt = prompt.removesuffix("<end>") if continued else prompt + ("<assistant>" if generation else "")
    tokens = reference.encode(prompt, add_special_tokens=special).ids
    result = post(
        url,
        "tokenize",
        add_generation_prompt=generation,
        continue_final_message=continued,
        add_special_tokens=special,
        messages=turns,
        model=MODEL,
        tools=tools,
    )
    assert result == {"count": len(tokens), "max_model_len": LENGTH, "tokens": tokens, "token_strs": None}


def test_tokenize_with_return_token_strs(url: str, reference: tokenizers.Tokenizer) -> None:
    encoded = reference.encode("This is a token_strs test prompt! vllm1")
    result = post(url, "tokenize", prompt="This is a token_strs test prompt! vllm1", return_token_strs=True)
    assert (result["tokens"], result["token_strs"]) == (encoded.ids, encoded.tokens)


def test_detokenize(url: str, reference: tokenizers.Tokenizer) -> None:
    prompt = "This is a test prompt. vllm1"
    tokens = reference.encode(prompt, add_special_tokens=False).ids
    assert post(url, "detokenize", model=MODEL, tokens=tokens) == {"prompt": prompt}

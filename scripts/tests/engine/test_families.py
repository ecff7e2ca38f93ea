"""Published families of vision-language models, from `retort model import --api chat` to both chat interfaces.

Each family is a tiny model with random weights (families.py). vLLM's CPU build runs it inside a real Triton, from the
entry as the import has written it. The prompts of the engine, as token ids with those of the images, are compared with
the ones of the family's own processor.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import engines  # noqa: E402
from pictures import drawing  # noqa: E402
from servers import ROOT, Gateway  # noqa: E402
from waiting import PATIENCE  # noqa: E402

FAMILIES = ["qwen2_5_vl", "gemma3"]
NAMES = ["text", "image", "image last", "two images", "turns"]


class Served:
    """A family that is served."""

    def __init__(self, family: str, gateway: Gateway, entry: Path, expected: dict) -> None:
        self.family, self.entry, self.expected = family, entry, expected
        self.openai = gateway.urls["chat"] + "/v1/chat/completions"
        self.stack = gateway.urls["chat"] + "/inference/chat_completion"

    def prompts(self) -> list[dict]:
        """The prompts that the engine has answered so far."""
        return [json.loads(line) for line in (self.entry / "1/prompts.jsonl").read_text().splitlines()]

    def ask(self, name: str, **more: object) -> dict:
        answer = requests.post(self.openai, json=self.body(name, **more), timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def body(self, name: str, **more: object) -> dict:
        messages = []
        for role, *parts in self.expected[name]["conversation"]:
            content = [
                {"type": "text", "text": part}
                if isinstance(part, str)
                else {"type": "image_url", "image_url": {"url": drawing(*part)}}
                for part in parts
            ]
            messages.append({"role": role, "content": content})
        return {"model": f"tests/{self.family}", "messages": messages, "max_tokens": 16, "ignore_eos": True, **more}

    def ask_stack(self, name: str, **more: object) -> requests.Response:
        messages = []
        for role, *parts in self.expected[name]["conversation"]:
            content = [part if isinstance(part, str) else {"image": {"uri": drawing(*part)}} for part in parts]
            messages.append({"role": role, "content": content})
            if role == "assistant":
                messages[-1] |= {"content": parts[0], "stop_reason": "end_of_turn"}
        body = {"model": f"tests/{self.family}", "messages": messages, **more}
        answer = requests.post(self.stack, json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer


@pytest.fixture(scope="module", params=FAMILIES)
def served(request, tmp_path_factory) -> Iterator[Served]:
    family = request.param
    weights, repository = tmp_path_factory.mktemp("weights"), tmp_path_factory.mktemp("models")
    expected = tmp_path_factory.mktemp("expected") / "expected.json"
    engines.run("families.py", family, weights, expected)
    command = [ROOT / "bin/retort", "model", "import", weights, "--api", "chat", "--id", f"tests/{family}"]
    done = subprocess.run([*command, "--repository", repository], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    with engines.triton(repository, tmp_path_factory.mktemp("backends")) as triton:
        assert triton.states() == {f"{family}/1": "READY"}, triton.output()
        with Gateway(triton.url, repository) as gateway:
            gateway.wait_ready("chat")
            yield Served(family, gateway, repository / family, json.loads(expected.read_text()))


def text_of(answer: dict) -> str:
    return answer["choices"][0]["message"]["content"]


@pytest.mark.parametrize("name", NAMES)
def test_the_prompt_is_that_of_the_familys_processor(served: Served, name: str) -> None:
    answer = served.ask(name)
    wanted, got = served.expected[name], served.prompts()[-1]
    assert wanted["text"].endswith(got["text"])  # without bos_token, which the engine's tokenizer adds
    assert got["ids"] == wanted["ids"]
    assert answer["usage"]["prompt_tokens"] == len(wanted["ids"])
    assert (answer["usage"]["completion_tokens"], answer["choices"][0]["finish_reason"]) == (16, "length")


@pytest.mark.parametrize("name", ["image", "turns"])
def test_the_stack_interface_sends_the_same_prompt(served: Served, name: str) -> None:
    answer = served.ask_stack(name, sampling_params={"strategy": "greedy", "max_tokens": 16}).json()
    assert served.prompts()[-1]["ids"] == served.expected[name]["ids"]
    message = answer["completion_message"]
    assert message["role"] == "assistant"
    assert message["content"] == text_of(served.ask(name, temperature=0, ignore_eos=False))


def test_the_pixels_change_the_probabilities(served: Served) -> None:
    def likelihoods(shade: int) -> list[float]:
        body = served.body("image", temperature=0, logprobs=True)
        body["messages"][0]["content"][0]["image_url"]["url"] = drawing(64, 48, shade)
        answer = requests.post(served.openai, json=body, timeout=PATIENCE).json()
        return [token["logprob"] for token in answer["choices"][0]["logprobs"]["content"]]

    white, again, black = likelihoods(255), likelihoods(255), likelihoods(0)
    assert white == pytest.approx(again, abs=1e-4) and white != pytest.approx(black, abs=1e-2)


def test_a_stream_is_the_answer_in_pieces(served: Served) -> None:
    more = {"temperature": 1, "top_k": -1, "seed": 5}
    whole = served.ask("two images", **more)
    body = served.body("two images", stream=True, stream_options={"include_usage": True}, **more)
    lines = requests.post(served.openai, json=body, timeout=PATIENCE).text.split("\n\n")
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    pieces = [c["choices"][0]["delta"].get("content") or "" for c in chunks if c["choices"]]
    assert "".join(pieces) == text_of(whole) and len([p for p in pieces if p]) > 1
    assert chunks[-1]["usage"] == whole["usage"]


def test_a_stream_of_the_stack_interface(served: Served) -> None:
    settings = {"strategy": "greedy", "max_tokens": 16}
    whole = served.ask_stack("image", sampling_params=settings).json()["completion_message"]["content"]
    lines = served.ask_stack("image", sampling_params=settings, stream=True).text.split("\n\n")
    events = [json.loads(line[6:])["event"] for line in lines if line.startswith("data: {")]
    deltas = [event["delta"] for event in events if event["event_type"] == "progress"]
    assert "".join(deltas) == whole and events[-1]["event_type"] == "complete"


def test_seeds_repeat(served: Served) -> None:
    more = {"temperature": 1, "top_k": -1, "top_p": 1}
    seven, again, eight = (text_of(served.ask("image", seed=seed, **more)) for seed in (7, 7, 8))
    assert seven == again != eight


def test_defaults_are_those_of_generation_config(served: Served) -> None:
    """Qwen's say top_k 1, so its answer is the likeliest one; Gemma's are the engine's beside top_k and top_p."""
    if served.family == "qwen2_5_vl":
        assert text_of(served.ask("image")) == text_of(served.ask("image", temperature=0))
        assert text_of(served.ask("image")) != text_of(served.ask("image", repetition_penalty=2))
        return
    stated = {"temperature": 1, "top_k": 64, "top_p": 0.95}
    assert text_of(served.ask("image", seed=3)) == text_of(served.ask("image", seed=3, **stated))


def test_tokens_of_generation_config_end_an_answer(served: Served) -> None:
    """A capital letter ends an answer, so one of many random answers ends early; with ignore_eos none does."""
    answers = [served.ask("text", temperature=1, seed=seed, max_tokens=64, ignore_eos=False) for seed in range(8)]
    reasons = [answer["choices"][0]["finish_reason"] for answer in answers]
    assert "stop" in reasons
    for answer in answers:
        ended = answer["choices"][0]["finish_reason"] == "stop"
        assert ended == (answer["usage"]["completion_tokens"] < 64)


def test_too_many_images_are_refused(served: Served) -> None:
    body = served.body("image")
    body["messages"][0]["content"] *= 5
    answer = requests.post(served.openai, json=body, timeout=PATIENCE)
    assert answer.status_code == 400 and "At most 4 image(s)" in answer.text


def test_marks_typed_by_a_user_are_texts(served: Served) -> None:
    body = served.body("text")
    marks = "<|image_pad|> <start_of_image> <|im_end|> <end_of_turn>"
    body["messages"][0]["content"] = marks
    answer = requests.post(served.openai, json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    special = set(served.expected["text"]["ids"]) | set(range(256))  # bytes, and the marks that every prompt has
    assert set(served.prompts()[-1]["ids"]) <= special

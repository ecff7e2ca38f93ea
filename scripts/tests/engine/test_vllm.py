"""The chat API in front of vLLM's CPU build, inside a real Triton: an independent engine with the same contract.

The model has random weights (tiny.py), so its words mean nothing. Tested are token counts, stop strings, seeds,
schemas, refusals and cancellation. `make test-engine` installs vLLM into .venv-engine and runs this."""

from __future__ import annotations

import http.client
import json
import math
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import engines  # noqa: E402
from pictures import content, drawing  # noqa: E402
from servers import Gateway  # noqa: E402
from waiting import PATIENCE, at_once, wait_for  # noqa: E402

PICTURE_TOKENS = 4
LENGTH = 32_768  # of tiny.py and of the entry
ANSWER = LENGTH - 1024
"""Tokens of an answer that its client leaves. Writing them takes tens of seconds. The gateway cancels a request within
about two seconds after its client has left (orchestrator/triton/leave.go)."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    weights, folder = tmp_path_factory.mktemp("weights"), tmp_path_factory.mktemp("models")
    engines.run("tiny.py", weights)
    engine = {
        "model": str(weights),
        "max_model_len": LENGTH,
        "limit_mm_per_prompt": {"image": 2},
        "max_logprobs": 5,
    }
    entry = shutil.copytree(HERE / "entry", folder / "engine")
    (entry / "1").mkdir()
    (entry / "1/model.json").write_text(json.dumps(engine))
    with engines.triton(folder, tmp_path_factory.mktemp("backends")) as triton:
        yield triton


@pytest.fixture(scope="module")
def url(server) -> Iterator[str]:
    with Gateway(server.url, server.repository) as gateway:
        gateway.wait_ready("chat")
        yield gateway.urls["chat"] + "/v1/chat/completions"


def body(text: str, *pictures: str, **more: object) -> dict:
    return {
        "model": "test/engine",
        "messages": [{"role": "user", "content": content(text, *pictures)}],
        "max_tokens": 24,
        "temperature": 0,
        **more,
    }


def ask(url: str, text: str, *pictures: str, **more: object) -> dict:
    answer = requests.post(url, json=body(text, *pictures, **more), timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(url: str, text: str, *pictures: str, **more: object) -> str:
    answer = requests.post(url, json=body(text, *pictures, **more), timeout=PATIENCE)
    assert answer.status_code == 400, answer.text
    return answer.json()["message"]


def text_of(answer: dict) -> str:
    return answer["choices"][0]["message"]["content"]


def chunks(url: str, text: str, *pictures: str, **more: object) -> list[dict]:
    sent = body(text, *pictures, stream=True, stream_options={"include_usage": True}, **more)
    lines = requests.post(url, json=sent, timeout=PATIENCE).text.split("\n\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_tokens_are_counted_with_and_without_pictures(url: str) -> None:
    plain = ask(url, "hello", ignore_eos=True)
    assert (plain["usage"]["completion_tokens"], plain["choices"][0]["finish_reason"]) == (24, "length")
    with_images = ask(url, "hello", drawing(40, 30), drawing(90, 30), ignore_eos=True)
    assert with_images["usage"]["prompt_tokens"] == plain["usage"]["prompt_tokens"] + 2 * (PICTURE_TOKENS + len("\n"))
    assert text_of(ask(url, "hello", ignore_eos=True)) == text_of(plain) != text_of(with_images)


def test_a_stream_is_the_answer_in_pieces(url: str) -> None:
    unstreamed = ask(url, "hello", drawing(), ignore_eos=True)
    every = chunks(url, "hello", drawing(), ignore_eos=True)
    pieces = [c["choices"][0]["delta"].get("content") or "" for c in every if c["choices"]]
    assert "".join(pieces) == text_of(unstreamed) and len([p for p in pieces if p]) > 1
    assert every[-1]["usage"] == unstreamed["usage"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stop_string_ends_the_answer(url: str, streamed: bool) -> None:
    unstreamed = text_of(ask(url, "stop?", max_tokens=100, ignore_eos=True))
    stop = next(a + b for a, b in zip(unstreamed[3:], unstreamed[4:]) if (a + b).isprintable() and (a + b).isascii())
    want = unstreamed[: unstreamed.index(stop)]
    if streamed:
        every = [
            c["choices"][0] for c in chunks(url, "stop?", max_tokens=100, ignore_eos=True, stop=[stop]) if c["choices"]
        ]
        assert "".join(c["delta"].get("content") or "" for c in every) == want
        assert every[-1]["finish_reason"] == "stop"
        return
    choice = ask(url, "stop?", max_tokens=100, ignore_eos=True, stop=[stop])["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"], choice["stop_reason"]) == (want, "stop", stop)


def test_seeds_and_choices(url: str) -> None:
    seven, eight = (text_of(ask(url, "hello", temperature=1, seed=seed)) for seed in (7, 8))
    assert seven != eight
    both = ask(url, "hello", temperature=1, seed=7, n=2)
    assert [c["message"]["content"] for c in both["choices"]] == [seven, eight]
    assert text_of(
        ask(
            url,
            "hello",
            temperature=1,
            top_p=0.9,
            top_k=20,
            min_p=0.01,
            presence_penalty=1,
            frequency_penalty=1,
            repetition_penalty=1.1,
        )
    )


def test_log_probabilities(url: str) -> None:
    answer = ask(url, "hello", logprobs=True, top_logprobs=3, ignore_eos=True)
    places = answer["choices"][0]["logprobs"]["content"]
    assert len(places) == answer["usage"]["completion_tokens"] == 24
    for place in places:
        values = [t["logprob"] for t in place["top_logprobs"]]
        assert len(values) == 3 and values == sorted(values, reverse=True) and sum(map(math.exp, values)) < 1.0001
        assert place["logprob"] == values[0]  # the likeliest is taken
    streamed = [
        c["choices"][0] for c in chunks(url, "hello", logprobs=True, top_logprobs=3, ignore_eos=True) if c["choices"]
    ]
    assert [p for c in streamed for p in (c.get("logprobs") or {}).get("content") or []] == places


FORM = {
    "type": "object",
    "required": ["rings", "kind", "flat"],
    "additionalProperties": False,
    "properties": {
        "rings": {"type": "integer", "minimum": 0, "maximum": 9},
        "kind": {"enum": ["acid", "base"]},
        "flat": {"type": "boolean"},
    },
}


def fits(text: str) -> bool:
    value = json.loads(text)
    return (
        set(value) == {"rings", "kind", "flat"}
        and value["rings"] in range(10)
        and value["kind"] in ("acid", "base")
        and value["flat"] in (True, False)
    )


def test_an_answer_conforms_to_a_schema(url: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "molecule", "schema": FORM, "strict": True}}
    for seed in range(3):
        choice = ask(url, "form", drawing(), temperature=1, seed=seed, max_tokens=400, response_format=form)["choices"][
            0
        ]
        assert fits(choice["message"]["content"]) and choice["finish_reason"] == "stop"


def test_a_tool_is_called(url: str) -> None:
    tool = {"type": "function", "function": {"name": "keep", "parameters": FORM}}
    message = ask(url, "form", temperature=1, seed=1, max_tokens=400, tools=[tool], tool_choice="required")["choices"][
        0
    ]["message"]
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "keep" and fits(call["function"]["arguments"])


def test_refusals_of_the_engine_are_client_errors(url: str) -> None:
    assert f"maximum context length is {LENGTH} tokens" in refused(url, "a" * 2 * LENGTH)
    form = {
        "type": "json_schema",
        "json_schema": {"name": "broken", "schema": {"type": "object", "properties": {"a": {"type": "nothing"}}}},
    }
    assert refused(url, "form", response_format=form)
    assert "logprobs" in refused(url, "hello", logprobs=True, top_logprobs=9)


def test_marks_typed_by_a_user_are_no_pictures(url: str) -> None:
    assert ask(url, "what is <image> here?")["usage"]["completion_tokens"] > 0


def test_concurrent_answers(url: str) -> None:
    texts = [f"question {n}" for n in range(6)]
    answers = at_once(*(lambda text=text: ask(url, text, drawing(), ignore_eos=True) for text in texts))
    assert [a["usage"]["completion_tokens"] for a in answers] == [24] * 6


@pytest.mark.parametrize("streamed", [True, False])
def test_a_disconnected_client_cancels_the_work(server, url: str, streamed: bool) -> None:
    text = f"a long answer, streamed: {streamed}"
    address = urlsplit(url)
    client = http.client.HTTPConnection(address.netloc, timeout=PATIENCE)
    sent = json.dumps(body(text, max_tokens=ANSWER, ignore_eos=True, stream=streamed))
    client.request("POST", address.path, sent, {"Content-Type": "application/json"})
    wait_for("the engine has written a token", lambda: recorded(server, "prompts.jsonl", text))
    if streamed:
        with client.getresponse() as answer:
            assert answer.status == 200 and answer.readline().startswith(b"data: {")
    client.close()
    wait_for("the engine's work has ended", lambda: recorded(server, "ended.jsonl", text))
    (end,) = recorded(server, "ended.jsonl", text)
    assert end["outcome"] == "cancelled" and 0 < end["tokens"] < ANSWER


def recorded(server, name: str, text: str) -> list[dict]:
    """The entries about prompts with this text in a record of the engine (backend/model.py)."""
    record = server.repository / "engine/1" / name
    lines = record.read_text().splitlines() if record.exists() else []
    return [entry for entry in map(json.loads, lines) if text in entry["text"]]

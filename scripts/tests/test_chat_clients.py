"""Real clients of the documented chat service.

Exact texts, errors and streams are tested with a scripted model, whose answers are in its prompts
(orchestrator/chat/testdata); the shipped model is tested on the whole stack.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
import requests
from langchain_core.messages import HumanMessage
from langchain_nvidia_ai_endpoints import ChatNVIDIA
from openai import BadRequestError, NotFoundError, OpenAI
from pictures import data_url, drawing
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE

SCRIPTED = "test/scripted-vllm"
STACK_CLIENTS = {version: ROOT / f".venv-stack-{version}" / "bin" / "python" for version in ("0.0.41", "0.2.12")}


def say(*pieces: str, **more: object) -> str:
    """A prompt that makes the scripted model answer with these pieces."""
    return "script " + json.dumps({"say": pieces, **more})


@pytest.fixture(scope="module")
def scripted_url(tmp_path_factory) -> Iterator[str]:
    """The chat API in front of a real Triton with the scripted model."""
    source, folder = ROOT / "orchestrator/chat/testdata", tmp_path_factory.mktemp("models")
    shutil.copytree(source / "models/scripted_vllm", folder / "scripted_vllm")
    (folder / "scripted_vllm/1").mkdir()
    shutil.copy(source / "scripted/model.py", folder / "scripted_vllm/1/model.py")
    with Triton(folder, control="explicit") as triton, Gateway(triton.url, folder) as gateway:
        gateway.wait_ready("chat")
        yield gateway.urls["chat"]


@pytest.fixture(scope="module")
def client(scripted_url: str) -> OpenAI:
    return OpenAI(base_url=f"{scripted_url}/v1", api_key="not-needed", max_retries=0)


def user(content: object) -> list[dict]:
    return [{"role": "user", "content": content}]


def test_openai_plain(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=SCRIPTED, messages=user(say("Hel", "lo")), temperature=0, max_tokens=9
    )
    choice = answer.choices[0]
    assert (choice.message.role, choice.message.content, choice.finish_reason) == ("assistant", "Hello", "stop")
    assert answer.id.startswith("chatcmpl-") and answer.object == "chat.completion" and answer.model == SCRIPTED
    assert answer.usage.completion_tokens == 2
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 2
    short = client.chat.completions.create(
        model=SCRIPTED, messages=user(say("a", "b", "c")), max_completion_tokens=2, n=2
    )
    assert [(c.index, c.message.content, c.finish_reason) for c in short.choices] == [
        (0, "ab", "length"),
        (1, "ab", "length"),
    ]


def test_openai_streamed(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model=SCRIPTED,
            messages=user(say("Hel", "lo", " EN", "D", "x")),
            stream=True,
            stop=["END"],
            stream_options={"include_usage": True},
        )
    )
    *body, last = chunks
    assert body[0].choices[0].delta.role == "assistant"
    assert "".join(c.choices[0].delta.content or "" for c in body) == "Hello "
    assert [c.choices[0].finish_reason for c in body if c.choices[0].finish_reason] == ["stop"]
    assert body[-1].choices[0].stop_reason == "END"
    assert last.choices == [] and last.usage.completion_tokens >= 4
    assert len({c.id for c in chunks}) == 1


def test_openai_logprobs(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=SCRIPTED, messages=user(say("a")), logprobs=True, top_logprobs=2)
    token = answer.choices[0].logprobs.content[0]
    assert (token.token, token.logprob, token.bytes) == ("a", -0.5, [97])
    assert [t.token for t in token.top_logprobs] == ["a", "other"]


def test_openai_vision(client: OpenAI) -> None:
    content = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": drawing(), "detail": "auto"}},
    ]
    got = json.loads(client.chat.completions.create(model=SCRIPTED, messages=user(content)).choices[0].message.content)
    assert got["text_input"] == ["<user><image>What is it?<end><assistant>"]
    assert got["image"] == [[32, 24]]


@pytest.mark.parametrize(
    ("kind", "says", "request_"),
    [
        (NotFoundError, "does not exist", {"model": "nobody/nothing", "messages": user("a")}),
        (
            BadRequestError,
            "max_tokens must be at least 1, got 0.",
            {"model": SCRIPTED, "messages": user("a"), "max_tokens": 0},
        ),
        (BadRequestError, "at least 1 item", {"model": SCRIPTED, "messages": []}),
        (
            BadRequestError,
            "At most 2 image(s)",
            {"model": SCRIPTED, "messages": user([{"type": "image_url", "image_url": {"url": drawing()}}] * 3)},
        ),
        (
            BadRequestError,
            "maximum context length is 512 tokens",
            {
                "model": SCRIPTED,
                "messages": user(
                    say(fail="The decoder prompt (length 900) is longer than the maximum model length of 512.")
                ),
            },
        ),
    ],
)
def test_openai_sees_the_documented_errors(client: OpenAI, kind: type, says: str, request_: dict) -> None:
    with pytest.raises(kind) as caught:
        client.chat.completions.create(**request_)
    assert says in caught.value.body["message"]
    flat = caught.value.response.json()
    assert flat["object"] == "error" and says in flat["message"] and flat["code"] == caught.value.status_code


def test_openai_sees_a_stream_fail(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model=SCRIPTED, messages=user(say("a", "b", fail="melted", fail_at=1)), stream=True
    )
    with pytest.raises(openai.APIError, match="Internal server error"):
        list(stream)


@pytest.fixture(scope="module")
def langchain(scripted_url: str) -> ChatNVIDIA:
    return ChatNVIDIA(base_url=f"{scripted_url}/v1", model=SCRIPTED)


def test_langchain_plain_and_streamed(langchain: ChatNVIDIA) -> None:
    answer = langchain.invoke(say("Hel", "lo"))
    assert answer.content == "Hello" and answer.usage_metadata["output_tokens"] == 2
    assert answer.response_metadata["finish_reason"] == "stop"
    pieces = list(langchain.stream(say("Hel", "lo", "!")))
    assert "".join(p.content for p in pieces) == "Hello!"
    assert any(p.usage_metadata and p.usage_metadata["output_tokens"] == 3 for p in pieces)


def test_langchain_vision(langchain: ChatNVIDIA) -> None:
    message = HumanMessage(
        content=[{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": drawing()}}]
    )
    got = json.loads(langchain.invoke([message]).content)
    assert got["image"] == [[32, 24]] and got["sampling_parameters"]["max_tokens"] == 512  # of its 1024, as many as fit


def test_langchain_sees_errors(langchain: ChatNVIDIA) -> None:
    with pytest.raises(Exception, match="At most 2 image"):
        langchain.invoke([HumanMessage(content=[{"type": "image_url", "image_url": {"url": drawing()}}] * 3)])


@pytest.mark.parametrize("version", STACK_CLIENTS)
def test_stack_clients(scripted_url: str, version: str) -> None:
    got = stack_client(version, scripted_url, SCRIPTED, say("Hel", "lo"), drawing())
    assert got.pop("listed") == [SCRIPTED]
    assert got.pop("openai", "Hello") == "Hello"
    assert got == {
        "whole": "Hello",
        "stop_reason": "end_of_turn",
        "types": ["start", "progress", "progress", "complete"],
        "streamed": "Hello",
        "last_stop_reason": "end_of_turn",
    }


def stack_client(version: str, url: str, model: str, question: str, picture: str) -> dict:
    """The output of stack_client.py with a version of llama-stack-client. Each version has its own environment."""
    python = STACK_CLIENTS[version]
    if not python.exists():
        pytest.skip(f"{python.parent.parent.name} is not there: `make {python.parent.parent.name}/stamp`")
    run = subprocess.run(
        [str(python), str(Path(__file__).with_name("stack_client.py")), url, model, picture, question],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


# The model of the repository.


@pytest.fixture(scope="module")
def model(chat_url: str) -> str:
    listed = requests.get(f"{chat_url}/v1/models", timeout=PATIENCE)
    card = listed.json()["data"][0]
    assert card["object"] == "model" and card["max_model_len"] > 0
    assert card["permission"][0]["object"] == "model_permission"
    return card["id"]


QUESTION = "Which molecule is this?"
DRAWINGS = ROOT / "scripts/tests/testdata/drawings"
CAFFEINE = data_url((DRAWINGS / "caffeine.png").read_bytes())
ASPIRIN = data_url((DRAWINGS / "aspirin.png").read_bytes())
READ = "The SMILES is Cn1c(=O)c2c(ncn2C)n(C)c1=O."


def test_every_client_gets_an_answer(chat_url: str, model: str) -> None:
    client = OpenAI(base_url=f"{chat_url}/v1", api_key="not-needed", max_retries=0)
    content = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": CAFFEINE}}]
    whole = client.chat.completions.create(model=model, messages=user(content), temperature=0)
    assert whole.choices[0].message.content == READ and whole.usage.total_tokens > whole.usage.completion_tokens > 20
    streamed = list(client.chat.completions.create(model=model, messages=user(content), temperature=0, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in streamed) == READ
    assert len(streamed) > 20
    langchain = ChatNVIDIA(base_url=f"{chat_url}/v1", model=model, temperature=0)
    assert langchain.invoke([HumanMessage(content=content)]).content == READ
    assert "".join(p.content for p in langchain.stream([HumanMessage(content=content)])) == READ


def test_a_conversation_with_two_drawings(chat_url: str, model: str) -> None:
    client = OpenAI(base_url=f"{chat_url}/v1", api_key="not-needed", max_retries=0)
    messages: list[dict] = []

    def say(text: str, *pictures: str) -> str:
        messages.append(
            {
                "role": "user",
                "content": [
                    *({"type": "image_url", "image_url": {"url": url}} for url in pictures),
                    {"type": "text", "text": text},
                ],
            }
        )
        answer = (
            client.chat.completions.create(model=model, messages=messages, temperature=0).choices[0].message.content
        )
        messages.append({"role": "assistant", "content": answer})
        return answer

    assert say("What is its molecular formula?", CAFFEINE) == "Its molecular formula is C8H10N4O2."
    assert say("And of this one?", ASPIRIN) == "Its molecular formula is C9H8O4."
    assert say("Does it have an ester?") == "Yes, it has 1 ester."
    assert say("Do both pictures show the same molecule?").startswith("No, they are different")
    assert say("Is it poisonous?").startswith("That is beyond me.")
    assert say("Which molecule is this?", drawing(300, 200)).startswith(
        "This picture does not look like a drawing of a molecule"
    )


@pytest.mark.parametrize("version", STACK_CLIENTS)
def test_every_stack_client_gets_an_answer(chat_url: str, model: str, version: str) -> None:
    got = stack_client(version, chat_url, model, QUESTION, CAFFEINE)
    assert got["whole"] == got["streamed"] == got.get("openai", READ) == READ and got["types"][-1] == "complete"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))

"""Calls Retort with Anthropic's client and prints the results as one JSON object.

    python anthropic_client.py URL KEYED_URL DATA_URL

URL is that of the main port or of the chat API's own port; the service at KEYED_URL requires the key "alpha". Run by
test_anthropic_clients.py in an environment of its own; failures are printed as text.
"""

from __future__ import annotations

import sys

import anthropic
from cases import report
from pydantic import BaseModel

CHAT = "retort/molecule-reader-v8"
QUESTION = "Which molecule is this?"
URL, KEYED, DATA_URL = sys.argv[1:]
CLIENT = anthropic.Anthropic(base_url=URL, api_key="not-needed", max_retries=0)


class Molecule(BaseModel):
    """The requested facts of a drawing. The model knows few names."""

    smiles: str
    molecular_formula: str
    ring_count: int
    name: str | None = None


BASE64 = {"type": "base64", "media_type": "image/png", "data": DATA_URL.partition(",")[2]}
TOOL = {"name": "keep", "description": "Keeps a molecule.", "input_schema": Molecule.model_json_schema()}
OTHER = {"name": "drop", "input_schema": {"type": "object", "properties": {"smiles": {"type": "string"}}}}


def drawing(source: dict | None = None) -> list[dict]:
    content = [{"type": "image", "source": source or BASE64}, {"type": "text", "text": QUESTION}]
    return [{"role": "user", "content": content}]


def text_of(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def models() -> list:
    listed = list(CLIENT.models.list(limit=1))
    one = CLIENT.models.retrieve(CHAT)
    return [[m.id for m in listed], one.id, one.display_name, one.created_at.year > 2000, one.lifecycle]


def create() -> list:
    message = CLIENT.messages.create(
        model=CHAT,
        max_tokens=256,
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": "What can you read?"}],
        metadata={"user_id": "u"},
        thinking={"type": "adaptive"},
        extra_body={"temperature": 0.0, "top_p": 0.9, "top_k": 5},
    )
    used = message.usage.input_tokens > 0 and message.usage.output_tokens > 0
    return [text_of(message), message.stop_reason, message.role, message.model, used, bool(message._request_id)]


def ends() -> list:
    cut = CLIENT.messages.create(model=CHAT, max_tokens=2, messages=[{"role": "user", "content": "What can you read?"}])
    stopped = CLIENT.messages.create(
        model=CHAT,
        max_tokens=64,
        stop_sequences=["molecules"],
        messages=[{"role": "user", "content": "What can you read?"}],
    )
    return [cut.stop_reason, cut.usage.output_tokens, stopped.stop_reason, stopped.stop_sequence, text_of(stopped)]


def images() -> list:
    return [
        text_of(CLIENT.messages.create(model=CHAT, max_tokens=128, messages=drawing(source)))
        for source in (BASE64, {"type": "url", "url": DATA_URL})
    ]


def turns() -> str:
    """A second question about an image, after the client's own answer object."""
    messages = drawing()
    first = CLIENT.messages.create(model=CHAT, max_tokens=128, messages=messages)
    messages += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": "What is its molecular formula?"},
    ]
    return text_of(CLIENT.messages.create(model=CHAT, max_tokens=128, messages=messages))


def stream() -> list:
    with CLIENT.messages.stream(model=CHAT, max_tokens=128, messages=drawing()) as events:
        kinds = [event.type for event in events]
        final = events.get_final_message()
    raw = [e.type for e in CLIENT.messages.create(model=CHAT, max_tokens=128, messages=drawing(), stream=True)]
    with CLIENT.messages.stream(model=CHAT, max_tokens=128, messages=drawing()) as events:
        text = "".join(events.text_stream)
    return [distinct(kinds), distinct(raw), text_of(final), final.stop_reason, final.usage.output_tokens > 1, text]


def distinct(kinds: list[str]) -> list[str]:
    return list(dict.fromkeys(kinds))


def tools() -> list:
    results = []
    for offered, choice in (([TOOL], {"type": "any"}), ([OTHER, TOOL], {"type": "tool", "name": "keep"})):
        request = {
            "model": CHAT,
            "max_tokens": 256,
            "messages": drawing(),
            "tools": offered,
            "tool_choice": choice,
        }
        called = CLIENT.messages.create(**request)
        with CLIENT.messages.stream(**request) as events:
            streamed = events.get_final_message()
        call, again = called.content[0], streamed.content[0]
        results.append([called.stop_reason, call.type, call.name, call.input, again.name, again.input == call.input])
    words = CLIENT.messages.create(model=CHAT, max_tokens=128, messages=drawing(), tools=[TOOL])
    messages = [
        *drawing(),
        {"role": "assistant", "content": called.content},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": call.id, "content": "kept"},
                {"type": "text", "text": "What is its molecular formula?"},
            ],
        },
    ]
    after = CLIENT.messages.create(model=CHAT, max_tokens=128, messages=messages, tools=[TOOL])
    return [*results, text_of(words), text_of(after)]


def structured() -> dict:
    parsed = CLIENT.messages.parse(model=CHAT, max_tokens=256, messages=drawing(), output_format=Molecule)
    return parsed.parsed_output.model_dump()


def counts() -> list:
    messages = [{"role": "user", "content": "What can you read?"}]
    plain = CLIENT.messages.count_tokens(model=CHAT, messages=messages).input_tokens
    longer = CLIENT.messages.count_tokens(model=CHAT, messages=messages, system="Be very brief.").input_tokens
    image = CLIENT.messages.count_tokens(model=CHAT, messages=drawing(), tools=[TOOL]).input_tokens
    answered = CLIENT.messages.create(model=CHAT, max_tokens=8, messages=messages)
    return [plain == answered.usage.input_tokens, longer > plain, image > 0]


def errors() -> list:
    said: list[object] = []
    hello = [{"role": "user", "content": "Hello"}]
    for request in (
        {"model": "nobody/nothing", "max_tokens": 5, "messages": hello},
        {"model": CHAT, "max_tokens": 0, "messages": hello},
        {"model": CHAT, "max_tokens": 5, "messages": []},
        {"model": CHAT, "max_tokens": 5, "messages": drawing({**BASE64, "data": "AAAA"})},
        {"model": CHAT, "max_tokens": 5, "messages": hello, "tools": [{"type": "web_search_20250305", "name": "w"}]},
        {"model": CHAT, "max_tokens": 10_000_000, "messages": hello, "extra_body": {"top_p": 2.0}, "stream": True},
    ):
        try:
            CLIENT.messages.create(**request)
            said.append("no error")
        except anthropic.APIStatusError as error:
            message = error.api_message.partition(": ")[0]
            same = error.body["request_id"] == error.request_id and bool(error.request_id)
            said.append([type(error).__name__, error.type, message, same])
    return said


def keys() -> list:
    answers = []
    for secret in ({"api_key": "alpha"}, {"auth_token": "alpha"}, {"api_key": "beta"}):
        client = anthropic.Anthropic(base_url=KEYED, max_retries=0, **secret)
        try:
            counted = client.messages.count_tokens(model=CHAT, messages=[{"role": "user", "content": "a"}])
            listed = [m.id for m in client.models.list()]
            answers.append([counted.input_tokens > 0, listed])
        except anthropic.APIStatusError as error:
            answers.append([type(error).__name__, error.type, error.status_code])
    return answers


if __name__ == "__main__":
    report([models, create, ends, images, turns, stream, tools, structured, counts, errors, keys])

"""Calls a service with OGX's client and prints the results as one JSON object.

    python ogx_calls.py URL DATA_URL CHAT EMBEDDER [RERANKER]

URL is that of Retort's main port, or of an OGX server with Retort as its provider; CHAT, EMBEDDER and RERANKER are
public ids of models there. Run by test_ogx_client.py and ogx/test_ogx.py in an environment of its own; failures are
printed as text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from cases import report
from ogx_client import APIStatusError, OgxClient

URL, IMAGE, CHAT, EMBEDDER, *RERANKER = sys.argv[1:]
CLIENT = OgxClient(base_url=URL, max_retries=0)
QUESTION = "What can you read?"
DRAWING = [
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "Which molecule is this?"},
        ],
    }
]


def models() -> list:
    listed = [model.id for model in CLIENT.models.list().data]
    return [CHAT in listed, EMBEDDER in listed, CLIENT.models.retrieve(CHAT).id == CHAT]


def chat() -> list:
    whole = CLIENT.chat.completions.create(model=CHAT, messages=DRAWING)
    pieces = CLIENT.chat.completions.create(model=CHAT, messages=DRAWING, stream=True)
    streamed = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    tool = {
        "type": "function",
        "function": {"name": "keep", "parameters": {"properties": {"smiles": {"type": "string"}}}},
    }
    called = CLIENT.chat.completions.create(model=CHAT, messages=DRAWING, tools=[tool], tool_choice="required")
    call = called.choices[0].message.tool_calls[0].function
    return [whole.choices[0].message.content, streamed, call.name, call.arguments]


def completion() -> str:
    return CLIENT.completions.create(model=CHAT, prompt=QUESTION, max_tokens=64).choices[0].text


def responses() -> list:
    whole = CLIENT.responses.create(model=CHAT, input=QUESTION)
    streamed = "".join(
        event.delta
        for event in CLIENT.responses.create(model=CHAT, input=QUESTION, stream=True)
        if event.type == "response.output_text.delta"
    )
    return ["".join(part.text for item in whole.output for part in item.content), streamed]


def embeddings() -> list:
    answer = CLIENT.embeddings.create(model=EMBEDDER, input=["Aspirin is an analgesic.", "a"])
    return [len(item.embedding) for item in answer.data]


def rerank() -> list:
    answer = CLIENT.alpha.inference.rerank(
        model=RERANKER[0],
        query="Which drug eases pain?",
        items=["Paris is in France.", "Aspirin is an analgesic."],
        max_num_results=1,
    )
    return [item.index for item in answer]


def errors() -> list:
    try:
        CLIENT.chat.completions.create(model="nobody/nothing", messages=DRAWING)
    except APIStatusError as error:
        return [type(error).__name__, error.status_code]
    return []


if __name__ == "__main__":
    CASES: list[Callable[[], object]] = [models, chat, completion, embeddings, errors]
    report([*CASES, rerank] if RERANKER else [*CASES, responses])

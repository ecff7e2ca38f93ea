"""Calls Retort with clients whose newest versions need their own packages, and prints the results as one JSON object.

    python newest_client.py MAIN_URL RANKING_URL DATA_URL

Run by test_newest_clients.py in an environment of its own; failures are printed as text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import cohere
from cases import report
from llama_stack_client import APIStatusError, LlamaStackClient

CHAT = "retort/molecule-reader-v8"
RANKER = "retort/rankqa-minilm-v2"
MAIN, RANKING, IMAGE = sys.argv[1:]
STACK = LlamaStackClient(base_url=MAIN, max_retries=0)
MESSAGES = [
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "Which molecule is this?"},
        ],
    }
]
DOCUMENTS = ["Paris is in France.", "Aspirin is an analgesic."]


def stack_models() -> list:
    return [CHAT in [model.id for model in STACK.models.list()], STACK.models.retrieve(CHAT).id]


def stack_chat() -> list:
    unstreamed = STACK.chat.completions.create(model=CHAT, messages=MESSAGES).choices[0].message.content
    pieces = STACK.chat.completions.create(model=CHAT, messages=MESSAGES, stream=True)
    streamed = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    text = STACK.completions.create(model=CHAT, prompt="What can you read?").choices[0].text
    return [unstreamed, streamed, text, STACK.responses.create(model=CHAT, input="What can you read?").output_text]


def stack_embeddings() -> int:
    return len(STACK.embeddings.create(model="sentence-transformers/all-MiniLM-L6-v2", input="a").data[0].embedding)


def stack_errors() -> list:
    try:
        STACK.embeddings.create(model="nobody/nothing", input="a")
    except APIStatusError as error:
        return [type(error).__name__, error.status_code]
    return []


def cohere_rerank() -> list:
    first = cohere.Client("not-needed", base_url=RANKING).rerank(
        model=RANKER, query="Which drug eases pain?", documents=DOCUMENTS, top_n=1
    )
    second = cohere.ClientV2("not-needed", base_url=RANKING).rerank(
        model=RANKER, query="Which drug eases pain?", documents=DOCUMENTS
    )
    return [
        [[result.index for result in answer.results] for answer in (first, second)],
        first.results[0].relevance_score == second.results[0].relevance_score,
    ]


def cohere_many() -> list:
    """A thousand documents and a long one, of which the end matters."""
    fact = "The Rhine flows north. "
    documents = [*[f"{fact}Note {i}." for i in range(1000)], fact * 300 + DOCUMENTS[1]]
    first = cohere.Client("not-needed", base_url=RANKING).rerank(
        model=RANKER, query="Which drug eases pain?", documents=documents, top_n=1
    )
    clients = cohere.ClientV2("not-needed", base_url=RANKING)
    second = clients.rerank(model=RANKER, query="Which drug eases pain?", documents=documents, top_n=1)
    start = clients.rerank(
        model=RANKER, query="Which drug eases pain?", documents=documents[-1:], max_tokens_per_doc=100
    )
    return [
        first.results[0].index,
        second.results[0].index,
        start.results[0].relevance_score < second.results[0].relevance_score,
        [bool(answer.meta.warnings) for answer in (first, second, start)],
    ]


CASES: list[Callable[[], object]] = [
    stack_models,
    stack_chat,
    stack_embeddings,
    stack_errors,
    cohere_rerank,
    cohere_many,
]


if __name__ == "__main__":
    report(CASES)

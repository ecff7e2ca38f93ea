"""Calls Retort with the parts of frameworks for NVIDIA's or OpenAI's services and prints the results as JSON.

    python framework_client.py URL DATA_URL

URL is that of the main port. Run by test_openai_clients.py in an environment of its own; failures are printed as text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["NVIDIA_API_KEY"] = "not-needed"

import litellm
from cases import report
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.embedders.nvidia import NvidiaTextEmbedder
from haystack_integrations.components.rankers.nvidia import NvidiaRanker
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.embeddings.nvidia import NVIDIAEmbedding
from llama_index.llms.nvidia import NVIDIA
from llama_index.postprocessor.nvidia_rerank import NVIDIARerank

CHAT = "retort/molecule-reader-v8"
RANKER = "retort/rankqa-minilm-v2"
ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2"
TWO_MODES = "retort/minilm-embedqa-v2"
TEXTS = ["Caffeine is a stimulant.", "Aspirin is an analgesic."]
QUERY = "Which drug eases pain?"
URL, IMAGE = sys.argv[1:]
KEY = "not-needed"
ASKED = [
    {
        "role": "user",
        "content": [
            {"type": "image_url", "image_url": {"url": IMAGE}},
            {"type": "text", "text": "Which molecule is this?"},
        ],
    }
]


def with_litellm() -> list:
    base = {"api_base": f"{URL}/v1", "api_key": KEY}
    vectors = [
        len(litellm.embedding(model=f"openai/{model}", input=TEXTS, **base).data) for model in (ONE_MODE, TWO_MODES)
    ]
    answers = [
        litellm.completion(model=f"{provider}/{CHAT}", messages=ASKED, **base).choices[0].message.content
        for provider in ("openai", "nvidia_nim", "hosted_vllm")
    ]
    streamed = "".join(
        c.choices[0].delta.content or ""
        for c in litellm.completion(model=f"openai/{CHAT}", messages=ASKED, stream=True, **base)
    )
    response = litellm.responses(model=f"openai/{CHAT}", input="What can you read?", **base)
    text = litellm.text_completion(
        model=f"text-completion-openai/{CHAT}", prompt="What can you read?", max_tokens=64, **base
    )
    return [vectors, answers, streamed, response.output[0].content[0].text, text.choices[0].text]


def with_llama_index() -> list:
    got = []
    for base in (f"{URL}/v1", URL):
        embedder = NVIDIAEmbedding(model=TWO_MODES, base_url=base, api_key=KEY)
        one = NVIDIAEmbedding(model=ONE_MODE, base_url=base, api_key=KEY)
        llm = NVIDIA(model=CHAT, base_url=base, api_key=KEY)
        reranker = NVIDIARerank(model=RANKER, base_url=base, api_key=KEY, top_n=1)
        best = reranker.postprocess_nodes([NodeWithScore(node=TextNode(text=t)) for t in TEXTS], query_str=QUERY)
        got.append(
            [
                len(embedder.get_text_embedding(TEXTS[0])),
                len(one.get_query_embedding(QUERY)),
                best[0].node.get_content(),
                llm.chat([ChatMessage(role="user", content="What can you read?")]).message.content,
                llm.complete("What can you read?").text,
            ]
        )
    return got


def with_haystack() -> list:
    got = []
    key = Secret.from_token(KEY)
    for base in (f"{URL}/v1", URL):
        embedder = NvidiaTextEmbedder(model=TWO_MODES, api_url=base, api_key=key)
        one = NvidiaTextEmbedder(model=ONE_MODE, api_url=base, api_key=key)
        rankers = [NvidiaRanker(model=model, api_url=base, api_key=key, top_k=1) for model in (RANKER, None)]
        for part in (embedder, one, *rankers):
            part.warm_up()
        documents = [Document(content=text) for text in TEXTS]
        got.append(
            [
                len(embedder.run(QUERY)["embedding"]),
                len(one.run(QUERY)["embedding"]),
                *(ranker.run(query=QUERY, documents=documents)["documents"][0].content for ranker in rankers),
            ]
        )
    return got


CASES: list[Callable[[], list]] = [with_litellm, with_llama_index, with_haystack]


if __name__ == "__main__":
    report(CASES)

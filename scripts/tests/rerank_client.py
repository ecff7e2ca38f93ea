"""Calls the rerank interfaces with published clients and prints the results as JSON.

    python rerank_client.py URL EMBEDDING_URL MODEL QUERY PASSAGE...
    python rerank_client.py URL EMBEDDING_URL MODEL QUERY - < PASSAGES.json

The URLs are ports that serve the ranking and the embedding API. Run by test_rerank_clients.py in the environment of
requirements-rerank.txt, once for all clients since they take long to import. Each returns the indexes of the passages,
best first, with their scores; nothing is set for Retort but its base URL. Passages in a file go to the clients MANY.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

Ranked = list[tuple[int, float]]
"""Index and score of each passage, best first."""

os.environ |= {
    "COHERE_API_KEY": "none",
    "CO_API_KEY": "none",
    "JINA_API_KEY": "none",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def cohere_v1(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    import cohere

    answer = cohere.Client(api_key="none", base_url=url).rerank(
        model=model, query=query, documents=[{"text": p} for p in passages], top_n=len(passages), return_documents=True
    )
    assert [result.document.text for result in answer.results] == [passages[result.index] for result in answer.results]
    return [(result.index, result.relevance_score) for result in answer.results]


def cohere_v2(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    import cohere

    answer = cohere.ClientV2(api_key="none", base_url=url).rerank(
        model=model, query=query, documents=passages, max_tokens_per_doc=64
    )
    assert answer.meta.billed_units.search_units == 1
    return [(result.index, result.relevance_score) for result in answer.results]


def cohere_v2_many(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    import cohere

    answer = cohere.ClientV2(api_key="none", base_url=url).rerank(model=model, query=query, documents=passages)
    assert answer.meta.billed_units.search_units > len(passages) // 100, answer.meta
    assert answer.meta.warnings is None, answer.meta
    return [(result.index, result.relevance_score) for result in answer.results]


def cohere_v2_start(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    """Only the longest passage, of which the start is read."""
    import cohere

    longest = max(passages, key=len)
    answer = cohere.ClientV2(api_key="none", base_url=url).rerank(
        model=model, query=query, documents=[longest], max_tokens_per_doc=64
    )
    assert answer.meta.warnings and "max_tokens_per_doc" in answer.meta.warnings[0], answer.meta
    return [(passages.index(longest), answer.results[0].relevance_score)]


def cohere_error(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    import cohere

    try:
        cohere.ClientV2(api_key="none", base_url=url).rerank(model="nobody/nothing", query=query, documents=passages)
    except cohere.NotFoundError as error:
        assert error.body["message"] == "The model `nobody/nothing` does not exist.", error.body
        return []
    raise AssertionError("an unknown model was answered")


def langchain_cohere(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    from langchain_cohere import CohereRerank
    from langchain_core.documents import Document

    client = CohereRerank(model=model, base_url=url, cohere_api_key="none", top_n=len(passages))
    ranked = client.compress_documents([Document(page_content=p) for p in passages], query)
    return [(passages.index(document.page_content), document.metadata["relevance_score"]) for document in ranked]


def llama_index_cohere(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    from llama_index.postprocessor.cohere_rerank import CohereRerank

    return llama_index(CohereRerank(model=model, base_url=url, api_key="none", top_n=len(passages)), query, passages)


def llama_index_tei(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

    return llama_index(TextEmbeddingInference(base_url=url, top_n=len(passages)), query, passages)


def llama_index_embeds(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    """The passages by the cosines of their vectors with the query's; url is that of the embedding API."""
    from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

    client = TextEmbeddingsInference(model_name="any", base_url=url)
    query_vector, vectors = client.get_query_embedding(query), client.get_text_embedding_batch(passages)
    cosines = [sum(a * b for a, b in zip(query_vector, vector)) for vector in vectors]
    return sorted(enumerate(cosines), key=lambda pair: -pair[1])


def llama_index(reranker: Any, query: str, passages: list[str]) -> Ranked:
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=p), score=0) for p in passages]
    return [(passages.index(node.text), node.score) for node in reranker.postprocess_nodes(nodes, query_str=query)]


def haystack_nvidia(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.nvidia import NvidiaRanker

    ranker = NvidiaRanker(model=model, api_url=f"{url}/v1", api_key=Secret.from_token("none"), top_k=len(passages))
    ranker.warm_up()
    ranked = ranker.run(query=query, documents=[Document(content=p) for p in passages])["documents"]
    return [(passages.index(document.content), document.score) for document in ranked]


def haystack_cohere(url: str, model: str, query: str, passages: list[str]) -> Ranked:
    from haystack import Document
    from haystack.utils import Secret
    from haystack_integrations.components.rankers.cohere import CohereRanker

    ranker = CohereRanker(model=model, api_base_url=url, api_key=Secret.from_token("none"), top_k=len(passages))
    ranked = ranker.run(query=query, documents=[Document(content=p) for p in passages])["documents"]
    return [(passages.index(document.content), document.score) for document in ranked]


def litellm(provider: str) -> Callable[..., Ranked]:
    def rank(url: str, model: str, query: str, passages: list[str]) -> Ranked:
        from litellm import rerank

        # litellm's Infinity provider reads documents as texts, its other providers as objects.
        answer = rerank(
            model=f"{provider}/{model}",
            query=query,
            documents=passages,
            api_base=url,
            api_key="none",
            top_n=len(passages),
            return_documents=provider != "infinity",
        )
        return [(result["index"], result["relevance_score"]) for result in answer.results]

    return rank


CLIENTS: dict[str, Callable[..., Ranked]] = {
    "cohere v1": cohere_v1,
    "cohere v2": cohere_v2,
    "cohere error": cohere_error,
    "langchain-cohere": langchain_cohere,
    "llama-index cohere": llama_index_cohere,
    "llama-index tei": llama_index_tei,
    "haystack nvidia": haystack_nvidia,
    "haystack cohere": haystack_cohere,
    "llama-index embeds": llama_index_embeds,
    **{f"litellm {name}": litellm(name) for name in ("cohere", "jina_ai", "infinity", "hosted_vllm", "nvidia_nim")},
}


MANY: dict[str, Callable[..., Ranked]] = {
    "cohere v1": cohere_v1,
    "cohere v2": cohere_v2_many,
    "cohere v2 start": cohere_v2_start,
    "llama-index cohere": llama_index_cohere,
    "litellm cohere": litellm("cohere"),
    "haystack cohere": haystack_cohere,
}
"""The clients of interfaces without a limit of 512 passages."""


def main() -> None:
    url, embedding, model, query, *passages = sys.argv[1:]
    clients = CLIENTS
    if passages == ["-"]:
        clients, passages = MANY, json.load(sys.stdin)
    found: dict[str, Ranked | str] = {}
    for name, client in clients.items():
        try:
            found[name] = client(embedding if client is llama_index_embeds else url, model, query, passages)
        except Exception:  # any failure is that client's result
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

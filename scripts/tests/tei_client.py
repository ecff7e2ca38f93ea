"""Embeds texts with published clients of text-embeddings-inference and prints the vectors as JSON.

    python tei_client.py URL TEXT...

URL is the embedding API's port. Run by test_tei.py in the environment of requirements-rerank.txt.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable

Vectors = list[list[float]]


def langchain(url: str, texts: list[str]) -> Vectors:
    from langchain_huggingface import HuggingFaceEndpointEmbeddings

    client = HuggingFaceEndpointEmbeddings(model=url)
    assert client.embed_query(texts[0]) == client.embed_documents(texts[:1])[0]
    return client.embed_documents(texts)


def llama_index(url: str, texts: list[str]) -> Vectors:
    from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

    return TextEmbeddingsInference(model_name="any", base_url=url).get_text_embedding_batch(texts)


def haystack_texts(url: str, texts: list[str]) -> Vectors:
    from haystack_integrations.components.embedders.huggingface_api import HuggingFaceAPITextEmbedder

    client = HuggingFaceAPITextEmbedder(
        api_type="text_embeddings_inference", api_params={"url": url}, truncate=True, normalize=True, token=None
    )
    return [client.run(text=text)["embedding"] for text in texts]


def haystack_documents(url: str, texts: list[str]) -> Vectors:
    from haystack import Document
    from haystack_integrations.components.embedders.huggingface_api import HuggingFaceAPIDocumentEmbedder

    client = HuggingFaceAPIDocumentEmbedder(
        api_type="text_embeddings_inference", api_params={"url": url}, progress_bar=False, token=None
    )
    return [d.embedding for d in client.run(documents=[Document(content=text) for text in texts])["documents"]]


CLIENTS: dict[str, Callable[[str, list[str]], Vectors]] = {
    "langchain-huggingface": langchain,
    "llama-index": llama_index,
    "haystack texts": haystack_texts,
    "haystack documents": haystack_documents,
}


def main() -> None:
    url, *texts = sys.argv[1:]
    found: dict[str, Vectors | str] = {}
    for name, client in CLIENTS.items():
        try:
            found[name] = [[float(x) for x in vector] for vector in client(url, texts)]
        except Exception:  # any failure is that client's result
            found[name] = traceback.format_exc()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

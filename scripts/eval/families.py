"""Measures how far imported encoders are from the code of their publishers, and writes the table of MODELS.md:

    PYTHONPATH=.:scripts/tests .venv-tests/bin/python -m scripts.eval.families

It imports the small models of scripts/tests/folders.py, starts a Triton and a gateway that serve them, and compares
the answers with scripts/tests/testdata/imports.json. Needs bin/retort and .venv-triton. A new family needs a line in
PUBLISHED.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from scripts import sections

PAGE = Path(__file__).resolve().parents[2] / "orchestrator/docs/operate/MODELS.md"
SECTION = "families"

# family of scripts/tests/folders.py -> its name, model_type, and published models that have this architecture
PUBLISHED = {
    "bert": ("BERT", "`bert`", "all-MiniLM-L6-v2, bge-base-en-v1.5, e5-base-v2; ms-marco-MiniLM-L6-v2"),
    "roberta": ("RoBERTa", "`roberta`", "all-distilroberta-v1; stsb-roberta-base"),
    "xlmr": ("XLM-RoBERTa", "`xlm-roberta`", "multilingual-e5-large, bge-m3; bge-reranker-v2-m3"),
    "camembert": ("CamemBERT", "`camembert`", "sentence-camembert-base"),
    "distilbert": ("DistilBERT", "`distilbert`", "multi-qa-distilbert-cos-v1"),
    "mpnet": ("MPNet", "`mpnet`", "all-mpnet-base-v2"),
    "nomicbert": ("NomicBERT", "`nomic_bert`", "nomic-embed-text-v1.5"),
    "modernbert": ("ModernBERT, first token", "`modernbert`", "gte-modernbert-base; gte-reranker-modernbert-base"),
    "modernbert_mean": ("ModernBERT, mean", "`modernbert`", "modernbert-embed-base"),
    "jinabert": ("JinaBERT", "`bert`, `alibi`", "jina-embeddings-v2-base-en; jina-reranker-v1-tiny-en"),
    "jinabert_code": ("JinaBERT, normalized queries", "`bert`, `alibi`", "jina-embeddings-v2-base-code, -base-de"),
    "gte": ("GTE", "`new`", "gte-base-en-v1.5, gte-large-en-v1.5"),
    "gte_multilingual": (
        "GTE, multilingual",
        "`new`, `gte`",
        "gte-multilingual-base, snowflake-arctic-embed-m-v2.0; gte-multilingual-reranker-base",
    ),
    "qwen2": ("Qwen2", "`qwen2`", ""),
    "qwen2_bidirectional": ("Qwen2, `is_causal` false", "`qwen2`", "gte-Qwen2-1.5B-instruct, gte-Qwen2-7B-instruct"),
    "qwen3": ("Qwen3", "`qwen3`", "Qwen3-Embedding; Qwen3-Reranker"),
    "gemma3": ("Gemma 3, bidirectional", "`gemma3_text`", "embeddinggemma-300m"),
    "gemma3_causal": ("Gemma 3, causal", "`gemma3_text`", ""),
    "mistral": ("Mistral", "`mistral`", "e5-mistral-7b-instruct, Linq-Embed-Mistral"),
    "llama": ("Llama", "`llama`", ""),
    "llama_bidirectional": (
        "Llama, bidirectional",
        "`llama_bidirec`",
        "llama-nemotron-embed-1b-v2; llama-nemotron-rerank-1b-v2",
    ),
}


def main() -> None:
    import test_model_import as checks

    sections.check(PAGE, SECTION)
    with (
        tempfile.TemporaryDirectory() as repository,
        tempfile.TemporaryDirectory() as source,
        checks.serve(Path(repository), Path(source)) as (gateway, _),
    ):
        rows = [row(checks, gateway, family) for family in checks.folders.FAMILIES]
    head = "family | `model_type` | published models | tokenizer | tokens | 1 − cosine | logits | 1 − cosine, int8"
    table = [f"| {head} |", f"|{' --- |' * 8}", *rows]
    sections.write(PAGE, SECTION, "\n".join(table))


def row(checks, gateway, family: str) -> str:
    """Returns the line of a family. The distances are the largest over the texts and, of vectors, the modes."""
    folders, golden = checks.folders, checks.GOLDEN[family]
    distances: dict[str, list[float]] = {"fp32": [], "int8": []}
    for mode, expected in golden["vectors"].items():
        for precision, found in distances.items():
            name = f"tests/{family}_embedding_{precision}"
            vectors = checks.embed(gateway, name, folders.TEXTS, **({"input_type": mode} if mode else {}))
            found += list(1 - checks.cosines(vectors, checks.np.array(expected)))
    logits = checks.rank(gateway, f"tests/{family}_ranking_fp32", folders.TEXTS)
    difference = abs(logits - checks.np.array(golden["logits"])).max()
    name, model_type, published = PUBLISHED[family]
    tokenizer = checks.Tokenizer.from_file(str(gateway.repository / f"{family}_embedding_fp32/tokenizer.json"))
    tokenizer.no_padding()
    shortest = min(len(tokenizer.encode(text).ids) for text in folders.TEXTS)
    cells = [
        name,
        model_type,
        published,
        f"`{folders.FAMILIES[family][0]}`",
        f"{shortest}–{folders.LONGEST}",
        f"{max(max(distances['fp32']), 0):.0e}",
        f"{difference:.0e}",
        f"{max(distances['int8']):.4f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()

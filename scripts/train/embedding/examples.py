"""Training examples: a query, a passage that answers it, and hard passages that do not.

    python -m scripts.train.embedding.examples --data DIR --out runs/examples     # again to resume
    python -m scripts.train.embedding.examples --data DIR --out runs/own-examples --sets own

--sets names the collections to mine: your own (scripts.train.collection), or those of the shipped models (the default).

The examples mix kinds of questions, because a retriever trained on one style is worse on all others: original
questions; their keywords; titles; sentences and conclusions, removed from the passage; captions of molecules;
paraphrases. Hard negatives are the nearest passages by the model to start from and by BM25, except those that may be
right: passages of the same topic, with the answer, or with a score far above the right one (positive-aware mining,
Moreira et al. 2024, https://arxiv.org/abs/2407.15831).
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from scripts.train import checkpoint, provenance, stored, training
from scripts.train.embedding import bm25, corpora, twomode, vectors
from scripts.train.embedding.corpora import Collection, Query

# The most queries of each set on a CPU, so that no style crowds out the others.
CPU_QUERIES = {"medquad": 3600, "nq_gold": 2600, "pubmedqa": 1600, "chebi20": 2600, "banking77": 1300}
CPU_DOCUMENTS = {"medquad": 3600}
NEAREST, LEXICAL = 8, 4
# The largest cosine of a query to a negative, as a factor of its cosine to the right passage. If the answer or topic
# separates right from wrong, negatives that the model prefers teach most. If only the pairing does (questions to
# several sources, captions that fit many molecules), such passages are often right as well.
MAX_NEGATIVE_COSINE = {"nq_gold": 1.3, "banking77": 1.3, "pubmedqa": 1.1, "medquad": 1.0, "chebi20": 1.0}
PASSAGE_TOKENS, QUERY_TOKENS = 160, 64


@dataclass
class Mined:
    """Passages and queries of one set, with vectors of the encoder before training: means over tokens."""

    name: str
    passages: list[str]
    passage_vectors: np.ndarray
    queries: list[str]
    query_vectors: np.ndarray
    positives: list[int]
    negatives: list[list[int]]
    groups: list[str]  # Passages of a group give the same answer, so they are not each other's in-batch negatives.


def variants(collection: Collection, random: random.Random) -> list[tuple[Query, str]]:
    """Returns queries of several kinds, each with the text of its passage ("": the original passage)."""
    found = []
    for query in collection.queries:
        draw = random.random()
        key_words = " ".join(w for w in corpora.words(query.text) if w not in corpora.STOP_WORDS)
        if collection.name not in ("chebi20", "banking77") and draw < 0.25 and key_words:
            query = Query(query.id, key_words, query.positives, query.answer)
        found.append((query, ""))
        if collection.name == "pubmedqa":
            found.append((Query(query.id, query.answer, query.positives), ""))
        if collection.name == "nq_gold" and draw > 0.8:
            title = collection.titles[min(query.positives)]
            found.append((Query(query.id, title, query.positives, title), ""))
        if collection.name in ("medquad", "nq_gold") and draw > 0.9:
            found += cut_sentence(collection, query, random)
    return found


def cut_sentence(collection: Collection, query: Query, random: random.Random) -> list[tuple[Query, str]]:
    """Makes one sentence of a passage the query and the others its passage (inverse cloze, Lee et al. 2019)."""
    pid = min(query.positives)
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z])", collection.passages[pid])[:8]
    long = [s for s in sentences if 40 < len(s) < 400]
    if len(sentences) < 3 or not long:
        return []
    chosen = random.choice(long)
    rest = " ".join(s for s in sentences if s != chosen)
    return [(Query(query.id, chosen, query.positives), rest)]


def gather(collection: Collection, max_queries: int | None, seed: int) -> tuple[Mined, list[str], int]:
    """Returns the examples of a set without vectors and negatives, the answers ("": unknown), and the number of
    original passages; the others are shortened ones of a single query."""
    chance = random.Random(f"{seed} {collection.name}")
    chosen = variants(collection, chance)
    chance.shuffle(chosen)
    chosen = chosen[:max_queries]
    texts: list[str] = []
    rows: dict[str, int] = {}
    groups: list[str] = []
    for pid in collection.passages:
        rows[pid] = len(texts)
        texts.append(corpora.with_title(collection, pid) if chance.random() < 0.5 else collection.passages[pid])
        groups.append(collection.topics.get(pid, pid))
    originals = len(texts)
    positives = []
    for query, text in chosen:
        pid = chance.choice(sorted(query.positives))
        if text:
            texts.append(text)
            groups.append(collection.topics.get(pid, pid))
        positives.append(len(texts) - 1 if text else rows[pid])
    no_vectors = np.zeros((0, 0), np.float32)
    queries = [query.text for query, _ in chosen]
    mined = Mined(collection.name, texts, no_vectors, queries, no_vectors, positives, [], groups)
    return mined, [query.answer for query, _ in chosen], originals


def negatives(mined: Mined, answers: list[str], originals: int) -> list[list[int]]:
    """Returns passages that the model or BM25 ranks high and that are probably wrong."""
    lexical = bm25.Index(mined.passages[:originals])
    found = []
    for query, answer, vector, positive in zip(mined.queries, answers, mined.query_vectors, mined.positives):
        near = mined.passage_vectors[:originals] @ vector
        limit = MAX_NEGATIVE_COSINE.get(mined.name, 1.0) * float(mined.passage_vectors[positive] @ vector)

        def keep_wrong(rows: np.ndarray, query=query, answer=answer, positive=positive, near=near, limit=limit):
            """Returns the rows of another group that are below the limit and do not contain the answer."""
            query_words = set(corpora.words(query))
            wrong: list[int] = []
            for row in map(int, rows):
                text = mined.passages[row].lower()
                answers_query = corpora.contains_answer(text, answer)
                covers_query = mined.name == "chebi20" and query_words <= set(corpora.words(text))
                in_group = mined.groups[row] == mined.groups[positive]
                if near[row] < limit and not in_group and not answers_query and not covers_query:
                    wrong.append(row)
            return wrong

        nearest = keep_wrong(np.argsort(-near)[:60])[:NEAREST]
        matched = keep_wrong(np.argsort(-lexical.scores(query))[:20])
        found.append(nearest + [r for r in matched if r not in nearest][:LEXICAL])
    return found


def mine(
    collection: Collection,
    max_queries: int | None,
    embed: vectors.Embed,
    tokenizer,
    seed: int,
    prefixes: tuple[str, str] = ("", ""),
) -> Mined:
    """Mines the examples of one set. prefixes: of queries and of passages, as the encoder was trained."""
    mined, answers, originals = gather(collection, max_queries, seed)

    def encode(texts: list[str], prefix: str, most: int) -> np.ndarray:
        return vectors.encode(embed, vectors.token_ids(tokenizer, [prefix + text for text in texts], most))

    mined.query_vectors = encode(mined.queries, prefixes[0], QUERY_TOKENS)
    mined.passage_vectors = encode(mined.passages, prefixes[1], PASSAGE_TOKENS)
    mined.negatives = negatives(mined, answers, originals)
    return mined


def training_collection(folder: Path, name: str, documents: int | None, seed: int) -> Collection:
    """Loads a training split, cut to adjacent documents, so that near misses stay together."""
    collection = corpora.load(folder, name, "train", 0)
    if documents and documents < len(collection.passages):
        pids = list(collection.passages)
        start = random.Random(seed).randrange(len(pids) - documents)
        kept = set(pids[start : start + documents])
        collection.passages = {p: collection.passages[p] for p in pids if p in kept}
        collection.queries = [q for q in collection.queries if q.positives <= kept]
    return collection


def source_files(folder: Path, name: str) -> list[Path]:
    """Returns the files of a collection. Exits if it has none."""
    files = sorted({*folder.glob(f"{name}.*.jsonl.gz"), *folder.glob(f"{name}_captions.jsonl.gz")})
    files += sorted(folder.glob(f"{name}.jsonl.gz"))
    if not files:
        raise SystemExit(f"examples: {folder} has no collection {name}; python -m scripts.train.collection makes one")
    return files


def source_digest(folder: Path, name: str) -> str:
    """Returns the SHA-256 of the files of a collection. Exits if it has none."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in source_files(folder, name))).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--start", type=Path, default=twomode.START, help=twomode.START_HELP)
    parser.add_argument(
        "--out", type=Path, default=Path("runs/examples"), help="output folder; existing sets are not mined again"
    )
    parser.add_argument("--sets", nargs="+", default=corpora.OPEN_SETS, help="collections to mine")
    parser.add_argument(
        "--whole", action="store_true", help="all queries of the open sets (default: about 16,000, for a CPU)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (0: torch's choice; default: 1)")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        encoder = twomode.load(args.start).encoder.eval().to(device)
        modes = (twomode.QUERY_PREFIX, twomode.PASSAGE_PREFIX) if twomode.is_entry(args.start) else ("", "")
        weights = stored.digest(args.start)
    except ValueError as error:
        raise SystemExit(f"examples: {error}") from error
    embed = vectors.torch_embed(encoder, device)
    tokenizer = vectors.load_tokenizer(args.start / "tokenizer.json")
    options = training.Options(name=args.out.name, runs=str(args.out.parent), data=str(args.data))
    for name in args.sets:
        file = args.out / f"{name}.pt"
        digest = source_digest(args.data, name)
        if file.exists():
            before = checkpoint.load(file)
            if before.get("source", digest) != digest:
                raise SystemExit(f"examples: {name} has changed since {file} was made: remove it, or change --out")
            check_weights(file, before, args.start, weights)
            continue
        documents, queries = (None if args.whole else most.get(name) for most in (CPU_DOCUMENTS, CPU_QUERIES))
        collection = training_collection(args.data, name, documents, args.seed)
        mined = mine(collection, queries, embed, tokenizer, args.seed, modes)
        tensors = {k: torch.from_numpy(getattr(mined, k)) for k in ("passage_vectors", "query_vectors")}
        checkpoint.save(vars(mined) | tensors | {"source": digest, "weights": weights}, file)
        print(
            f"{name}: {len(mined.queries)} queries, {len(mined.passages)} passages, "
            f"{np.mean([len(n) for n in mined.negatives]):.1f} negatives each",
            flush=True,
        )
    provenance.record(options, ())


def check_weights(file: Path, examples: dict, start: Path, weights: str) -> None:
    """Exits if examples were mined with another model than the one to start from."""
    if examples.get("weights") != weights:
        raise SystemExit(
            f"examples: {file} was mined with another model than {start}: remove it, or choose another folder"
        )


def load_sets(folder: Path, start: Path | None = None) -> list[Mined]:
    """Loads the sets in a folder of examples, in the order of their names.

    Exits if they were mined with another model than the one to start from. Raises ValueError if models may not be
    trained on one of them.
    """
    files = sorted(folder.glob("*.pt"))
    if not files:
        raise FileNotFoundError(f"examples: none in {folder}")
    examples = [checkpoint.load(file) for file in files]
    if forbidden := {s["name"] for s in examples} & {*corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS}:
        names = ", ".join(sorted(forbidden))
        raise ValueError(f"examples: {names} must not be trained on (corpora.OPEN_SETS): remove it from {folder}")
    if start:
        weights = stored.digest(start)
        for file, one in zip(files, examples):
            check_weights(file, one, start, weights)
    return [
        Mined(
            **{
                k: v.numpy() if isinstance(v, torch.Tensor) else v
                for k, v in one.items()
                if k in Mined.__dataclass_fields__
            }
        )
        for one in examples
    ]


if __name__ == "__main__":
    main()

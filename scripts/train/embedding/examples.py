"""Training examples: a query, a passage that answers it, and hard passages that do not.

    python -m scripts.train.embedding.examples --data DIR --weights DIR --out runs/examples.pt

Kinds of question are mixed on purpose, since a retriever that knows only one style loses on all the others: questions
as asked; their key words alone; titles; sentences and conclusions (cut out of the passage); captions of molecules;
paraphrases. Hard negatives are the nearest passages by the embedding model and by BM25, without those that may be
right: passages of the same topic, those that hold the answer, and those that score above 0.95 of the positive
(Moreira et al. 2024, https://arxiv.org/abs/2407.15831).
"""

from __future__ import annotations

import argparse
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from scripts.train.embedding import bert, bm25, corpora, vectors
from scripts.train.embedding.corpora import Collection, Query

# Queries a set gives at most: with every core minute dear, no style may crowd out the others.
CPU_QUERIES = {"squadshifts_new_wiki": 5000, "medquad": 3600, "nq_gold": 2600, "pubmedqa": 1600, "chebi20": 2600, "banking77": 1300}
CPU_DOCUMENTS = {"medquad": 3600}
NEAREST, LEXICAL, KEPT_BELOW = 8, 4, 0.95
PASSAGE_TOKENS, QUERY_TOKENS = 160, 64


@dataclass
class Mined:
    """Passages of one set as token ids, with vectors of the untrained model, and the queries asked of them."""

    name: str
    passages: list[str]
    passage_vectors: np.ndarray
    queries: list[str]
    query_vectors: np.ndarray
    positives: list[int]
    negatives: list[list[int]]
    groups: list[str]  # passages of a group answer alike: never each other's in-batch negatives


def variants(collection: Collection, random: random.Random) -> list[tuple[Query, str]]:
    """Queries of a training collection in several kinds, each with a passage text of its own ("" = as it is)."""
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
        if collection.name in ("squadshifts_new_wiki", "medquad", "nq_gold") and draw > 0.9:
            found += cut_sentence(collection, query, random)
    return found


def cut_sentence(collection: Collection, query: Query, random: random.Random) -> list[tuple[Query, str]]:
    """One sentence of a passage as the query, the rest as its passage (inverse cloze, Lee et al. 2019)."""
    pid = min(query.positives)
    sentences = re.split(r"(?<=[.!?]) +(?=[A-Z])", collection.passages[pid])[:8]
    long = [s for s in sentences if 40 < len(s) < 400]
    if len(sentences) < 3 or not long:
        return []
    chosen = random.choice(long)
    rest = " ".join(s for s in sentences if s != chosen)
    return [(Query(query.id, chosen, query.positives), rest)]


def mine(collection: Collection, most: int | None, embed: vectors.Embed, tokenizer, seed: int) -> Mined:
    """The examples of one set."""
    chance = random.Random(f"{seed} {collection.name}")
    asked = variants(collection, chance)
    chance.shuffle(asked)
    asked = asked[:most]
    texts, rows, groups = [], {}, []
    for pid in collection.passages:
        rows[pid] = len(texts)
        texts.append(corpora.titled(collection, pid) if chance.random() < 0.5 else collection.passages[pid])
        groups.append(collection.topics.get(pid, pid))
    own = len(texts)  # mined from these; cut passages that follow serve one query each
    positives = []
    for query, text in asked:
        pid = chance.choice(sorted(query.positives))
        if text:
            texts.append(text)
            groups.append(collection.topics.get(pid, pid))
        positives.append(len(texts) - 1 if text else rows[pid])
    passage_vectors = vectors.encode(embed, vectors.token_ids(tokenizer, texts, PASSAGE_TOKENS))
    query_vectors = vectors.encode(embed, vectors.token_ids(tokenizer, [q.text for q, _ in asked], QUERY_TOKENS))
    lexical = bm25.Index(texts[:own])
    negatives = []
    for (query, _), vector, positive in zip(asked, query_vectors, positives):
        near = passage_vectors[:own] @ vector
        limit = KEPT_BELOW * float(passage_vectors[positive] @ vector)

        def wrong(row: int) -> bool:
            answered = len(query.answer) > 2 and query.answer.lower() in texts[row].lower()
            return groups[row] != groups[positive] and near[row] < limit and not answered

        nearest = [int(r) for r in np.argsort(-near)[:60] if wrong(int(r))][:NEAREST]
        matched = [int(r) for r in np.argsort(-lexical.scores(query.text))[:20] if wrong(int(r))]
        negatives.append(nearest + [r for r in matched if r not in nearest][:LEXICAL])
    queries = [q.text for q, _ in asked]
    return Mined(collection.name, texts, passage_vectors, queries, query_vectors, positives, negatives, groups)


def training_collection(folder: Path, name: str, documents: int | None, seed: int) -> Collection:
    """A training split, cut to a number of documents: they lie side by side, so near misses stay together."""
    collection = corpora.load(folder, name, "train", 0)
    if documents and documents < len(collection.passages):
        pids = list(collection.passages)
        start = random.Random(seed).randrange(len(pids) - documents)
        kept = set(pids[start : start + documents])
        collection.passages = {p: collection.passages[p] for p in pids if p in kept}
        collection.queries = [q for q in collection.queries if q.positives <= kept]
    return collection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--weights", type=Path, required=True, help="folder of the embedding model (config.json, model.safetensors)")
    parser.add_argument("--out", type=Path, default=Path("runs/examples.pt"))
    parser.add_argument("--preset", choices=("cpu", "gpu"), default="cpu", help="cpu: about 16,000 queries; gpu: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    embed = vectors.torch_embed(bert.load_encoder(args.weights).eval().to(device), device)
    tokenizer = vectors.load_tokenizer(args.weights / "tokenizer.json")
    cpu = args.preset == "cpu"
    sets = []
    for name in corpora.OPEN_SETS:
        collection = training_collection(args.data, name, CPU_DOCUMENTS.get(name) if cpu else None, args.seed)
        mined = mine(collection, CPU_QUERIES[name] if cpu else None, embed, tokenizer, args.seed)
        sets.append(vars(mined) | {k: torch.from_numpy(getattr(mined, k)) for k in ("passage_vectors", "query_vectors")})
        print(f"{name}: {len(mined.queries)} queries, {len(mined.passages)} passages, "
              f"{np.mean([len(n) for n in mined.negatives]):.1f} negatives each", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(sets, args.out)


if __name__ == "__main__":
    main()

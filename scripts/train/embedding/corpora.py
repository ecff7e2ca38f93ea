"""Collections of passages with queries.

The files of the data folder are gzipped JSON lines: passages `{"pid","title"?,"text"}`, queries
`{"qid","query","pos","split"}`. Two sets have no queries: those of ChEBI captions are derived from the captions, and in
Banking77 texts of the same intent answer each other.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

# The sets that models of this repository may be trained on: the repository that publishes each states a licence that
# allows it.
OPEN_SETS = ("medquad", "nq_gold", "pubmedqa", "chebi20", "banking77")
# Not trained on any more: the passages are Wikipedia's (CC BY-SA), but the repository of the questions has no licence
# file. The shipped embedding and ranker were trained on it, as their cards say, so for these two it is no test of
# unseen texts.
UNCLEAR_SETS = ("squadshifts_new_wiki",)
# For evaluation only; no shipped model was trained on them. Two have no licence file; XQuAD (CC BY-SA 4.0) is an
# outside test.
MEASURE_SETS = ("squadshifts_amazon", "squadshifts_reddit", "xquad")
# Sets whose titles are numbers, which are not added to the text.
NUMBERED_TITLES = ("squadshifts_amazon", "squadshifts_reddit")

SENTENCE = range(25, 350)  # Lengths in characters of the sentences that are used.

STOP_WORDS = frozenset(
    """a an and any are as at be been but by can could did do does for from had has have he her his how i if in into
    is it its may might more most much my no not of on or our she should so some such than that the their them then
    there these they this those to was we were what when where which who whom whose why will with would you your
    compound molecule substance member class role""".split()
)


@dataclass(frozen=True)
class Query:
    """A question with the ids of its passages and the text of its answer, if known."""

    id: str
    text: str
    positives: frozenset[str]
    answer: str = ""


@dataclass
class Collection:
    """Passages by id, and queries whose answers are among them."""

    name: str
    passages: dict[str, str]
    queries: list[Query]
    titles: dict[str, str] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)  # Passages of a topic give the same answer.


def read_lines(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load(folder: Path, name: str, split: str, distractors: int | None = None, seed: int = 1) -> Collection:
    """Loads the queries and passages of a split, with passages of other splits as distractors.

    distractors: the maximum number of these (None: all). The load_ functions below return the passages of all splits
    with the queries of one split, and the ids of the passages that are relevant to these.
    """
    if name == "chebi20":
        collection, relevant = load_chebi(folder, split)
    elif name == "banking77":
        collection, relevant = load_banking(folder, split)
    else:
        collection, relevant = load_plain(folder, name, split)
    others = sorted(set(collection.passages) - relevant)
    if distractors is not None and len(others) > distractors:
        others = random.Random(f"{seed} {name}").sample(others, distractors)
    chosen = relevant | set(others)
    collection.passages = {pid: text for pid, text in collection.passages.items() if pid in chosen}
    return collection


def load_plain(folder: Path, name: str, split: str) -> tuple[Collection, set[str]]:
    """Loads a set with separate files of passages and queries."""
    rows = read_lines(folder / f"{name}.passages.jsonl.gz")
    titles = {r["pid"]: r.get("title", "") if name not in NUMBERED_TITLES else "" for r in rows}
    passages = {r["pid"]: r["text"] for r in rows}
    english = [r for r in read_lines(folder / f"{name}.queries.jsonl.gz") if r.get("lang", "en") == "en"]
    topics = {p: f"{titles[p]}|{r.get('qtype', p)}".lower() for r in english for p in r["pos"]}
    queries = [
        Query(r["qid"], r["query"].strip(), frozenset(r["pos"]), r.get("answer", ""))
        for r in english
        if r["split"] == split
    ]
    relevant = set().union(*(q.positives for q in queries)) if queries else set()
    return Collection(name, passages, queries, titles, topics), relevant


def load_chebi(folder: Path, split: str) -> tuple[Collection, set[str]]:
    """Loads captions of molecules; queries are rare words of a caption, or its first sentence, removed from the
    passage."""
    rows = read_lines(folder / "chebi20_captions.jsonl.gz")
    caption_counts: dict[str, int] = defaultdict(int)
    for row in rows:
        for word in set(words(row["caption"])):
            caption_counts[word] += 1
    passages, queries, relevant = {}, [], set()
    for row in rows:
        first, _, rest = row["caption"].partition(". ")
        by_sentence = len(rest) > 80 and int(row["cid"]) % 2 == 0
        text = rest if by_sentence else row["caption"]
        passages[row["cid"]] = text
        if chebi_split(row) == split:
            relevant.add(row["cid"])
            query = first if by_sentence else rare_words(text, caption_counts, row["cid"])
            queries.append(Query(row["cid"], query, frozenset([row["cid"]])))
    return Collection("chebi20", passages, queries), relevant


def chebi_split(row: dict) -> str:
    """Returns the split of a caption; a tenth of the training captions is our dev split."""
    return "dev" if row["split"] == "train" and int(row["cid"]) % 10 == 7 else row["split"]


def rare_words(text: str, caption_counts: dict[str, int], seed: str) -> str:
    """Returns three to five rare words of a caption, in order, like a query typed from memory.

    caption_counts: the number of captions that contain each word.
    """
    known = list(dict.fromkeys(w for w in words(text) if w not in STOP_WORDS and caption_counts[w] > 2))
    rarest = set(sorted(known, key=lambda w: caption_counts[w])[:8])
    pool = [w for w in known if w in rarest]
    count = min(len(pool), random.Random(seed).randint(3, 5))
    chosen = set(random.Random(seed).sample(pool, count))
    return " ".join(w for w in pool if w in chosen)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9][a-z0-9'-]*", text.lower())


def load_banking(folder: Path, split: str) -> tuple[Collection, set[str]]:
    """Loads customers' questions; each fourth of an intent is a query, which the others answer."""
    groups = defaultdict(list)
    for number, row in enumerate(read_lines(folder / "banking77.jsonl.gz")):
        if row["split"] == split or (split == "dev" and row["split"] == "train"):
            groups[row["label"]].append((f"b{number}", row["text"].strip()))
    passages: dict[str, str] = {}
    queries = []
    for _, members in sorted(groups.items()):
        if split == "dev":  # Our dev split: the last tenth of each training intent.
            members = members[-max(8, len(members) // 10) :]
        elif split == "train":
            members = members[: -max(8, len(members) // 10)]
        asking, answers = members[::4], [m for i, m in enumerate(members) if i % 4]
        passages |= dict(answers)
        positives = frozenset(pid for pid, _ in answers)
        queries += [Query(pid, text, positives) for pid, text in asking]
    topics = {pid: label for label, members in groups.items() for pid, _ in members}
    return Collection("banking77", passages, queries, topics=topics), set(passages)


def sentences_of(text: str) -> list[str]:
    """Returns the sentences of a text whose length is in SENTENCE."""
    return [s for s in re.split(r'(?<=[.!?])\s+(?=[A-Z"])', text) if len(s) in SENTENCE]


def contains_answer(text: str, answer: str) -> bool:
    """Reports whether a text contains an answer of at least three characters."""
    return len(answer) > 2 and answer.lower() in text.lower()


def split_by_answer(collection: Collection, query: Query) -> tuple[list[str], list[str]]:
    """Splits the sentences of a query's passage into those with the answer and the others."""
    all_sentences = sentences_of(collection.passages[min(query.positives)])
    right = [s for s in all_sentences if contains_answer(s, query.answer)]
    return right, [s for s in all_sentences if s not in right]


def with_title(collection: Collection, pid: str) -> str:
    """Returns a passage, preceded by its title unless it starts with it."""
    title, text = collection.titles.get(pid, ""), collection.passages[pid]
    return f"{title}. {text}" if title and not text.startswith(title) else text


@dataclass(frozen=True)
class GradedList:
    """A question with candidates and their grades (0 wrong, 1 right, 2 excellent)."""

    query: str
    texts: list[str]
    gains: list[int]


GRADED_FILE = "mediqa2019_rank.jsonl.gz"


def lists_file(name: str) -> str:
    """Returns the file name of a set of candidate lists."""
    return f"{name}.lists.jsonl.gz"


def load_graded(folder: Path, split: str | None = None, file: str = GRADED_FILE) -> list[GradedList]:
    """Loads the candidate lists of MEDIQA 2019, or of a file in its format, with right and wrong candidates.

    Scores 3 and 4 are right.
    """
    lists = []
    for row in read_lines(folder / file):
        gains = [max(int(c["score"]) - 2, 0) for c in row["cands"]]
        if (split is None or row["split"] == split) and len(set(gains)) > 1:
            lists.append(GradedList(row["query"], [c["text"] for c in row["cands"]], gains))
    return lists

"""Measures how well the chat API reads drawings and answers questions about them, through HTTP:

    python -m scripts.eval.chat --data DATA --url http://127.0.0.1:8005 [--molecules 100 --styles default]

reading     drawings of unseen molecules (ZINC250k validation) in RDKit's default style and in varied styles: exact
            SMILES, exact without stereochemistry, Tanimoto similarity, with and without a warning of the model
questions   counts, yes/no questions and formulas of the first --questions drawings of each style
follow-ups  second turns about the same drawing, and about a new one
pairs       two drawings, of the same molecule or not
refusals    pictures without a molecule, and questions that a drawing does not answer

RDKit computes the expected answers from the molecule of the drawing. It writes OUT/results.json and, with --write, the
tables into their section of the model's EVALUATION.md. --write needs both styles and at least MIN_MOLECULES and
MIN_QUESTIONS.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from rdkit import Chem, RDLogger

from scripts import sections
from scripts.eval import chat_pictures, chat_report
from scripts.eval.chat_questions import FOLLOWING, QUESTIONS, SECOND, SMILES, out_of_scope, right, smiles, wording
from scripts.eval.service import Service
from scripts.served_reader.properties import similarity
from scripts.train import served

MODEL = "retort/molecule-reader-v8"
NO_MOLECULE = ("does not look like a drawing of a molecule", "I could not read it")
OUT_OF_SCOPE = "beyond me"
SECTION = "eval-chat"
STYLES = "default,varied"
MIN_MOLECULES, MIN_QUESTIONS = 500, 30
"""The lower bounds of --molecules and --questions for --write."""


class API(Service):
    """The chat API, with `concurrency` requests in flight."""

    def __init__(self, url: str, concurrency: int) -> None:
        super().__init__(url, timeout=120)
        self.concurrency = concurrency

    def talk(self, *turns: tuple[str, list[str]]) -> str:
        """Sends the turns of a conversation and returns the last answer. A turn is a text with URLs of pictures."""
        messages: list[dict] = []
        answer = ""
        for text, pictures in turns:
            parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
            messages.append({"role": "user", "content": [*parts, {"type": "text", "text": text}]})
            answer = self.complete({"model": MODEL, "messages": messages, "temperature": 0, "max_tokens": 512})
            messages.append({"role": "assistant", "content": answer})
        return answer

    def talk_surely(self, text: str, pictures: list[str]) -> tuple[str, float]:
        """Sends one message, and returns the answer and its confidence."""
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
        message = {"role": "user", "content": [*parts, {"type": "text", "text": text}]}
        body = {"model": MODEL, "messages": [message], "temperature": 0, "max_tokens": 512, "logprobs": True}
        choice = self.post("/v1/chat/completions", body)["choices"][0]
        return choice["message"]["content"], math.exp(sum(t["logprob"] for t in choice["logprobs"]["content"]))

    def complete(self, body: dict) -> str:
        """Returns the text of a chat completion."""
        return self.post("/v1/chat/completions", body)["choices"][0]["message"]["content"]

    def each(self, work: Callable, items: Iterable) -> list:
        """Returns the result of `work` for each item, computed concurrently."""
        with ThreadPoolExecutor(self.concurrency) as pool:
            return list(pool.map(work, items))


def flat(text: str) -> str:
    """Returns canonical SMILES without stereochemistry."""
    return Chem.MolToSmiles(Chem.MolFromSmiles(text), isomericSmiles=False)


def tanimoto(a: str, b: str) -> float:
    """Returns the similarity of Morgan fingerprints, or 0 if there is no SMILES."""
    return similarity(Chem.MolFromSmiles(a), Chem.MolFromSmiles(b)) if a and b else 0.0


def reading(api: API, drawn: list[tuple[str, str]]) -> list[dict]:
    """Asks for the SMILES of each drawing, and returns a row per drawing."""

    def ask(item: tuple[int, tuple[str, str]]) -> dict:
        number, (truth, url) = item
        answer = api.talk((SMILES[number % len(SMILES)], [url]))
        found = smiles(answer)
        return {
            "truth": truth,
            "got": found,
            "exact": found == truth,
            "flat": bool(found) and flat(found) == flat(truth),
            "tanimoto": tanimoto(found, truth),
            "sure": bool(found) and "not sure" not in answer,
        }

    return api.each(ask, enumerate(drawn))


def questions(api: API, drawn: list[tuple[str, str]], rows: list[dict], seed: int) -> list[dict]:
    """Asks every question about each drawing, and returns a row per question.

    "right" is about the molecule of the drawing, and "follows" about the one that the model read.
    """

    def ask(item) -> dict:
        (truth, url), row, question = item
        text = wording(question, f"{seed} {truth}")
        answer = api.talk((text, [url]))
        expected = question.truth(Chem.MolFromSmiles(truth))
        read = Chem.MolFromSmiles(row["got"]) if row["got"] else None
        return {
            "kind": question.kind,
            "asked": text,
            "answer": answer,
            "right": right(answer, expected),
            "follows": read is not None and right(answer, question.truth(read)),
        }

    return api.each(ask, [(d, r, q) for d, r in zip(drawn, rows) for q in QUESTIONS])


def follow_ups(api: API, drawn: list[tuple[str, str]]) -> list[dict]:
    """Asks second questions, about the same drawing and about a new one."""

    def same(item) -> dict:
        (truth, url), ((first, second), expected, kind) = item
        answer = api.talk((first, [url]), (second, []))
        return {"kind": kind, "answer": answer, "right": right(answer, expected(Chem.MolFromSmiles(truth)))}

    def other(item) -> dict:
        (_, before), (truth, url) = item
        answer = api.talk((SECOND[0], [before]), (SECOND[1], [url]))
        return {
            "kind": "another drawing",
            "answer": answer,
            "right": right(answer, QUESTIONS[0].truth(Chem.MolFromSmiles(truth))),
        }

    return api.each(same, [(d, f) for d in drawn for f in FOLLOWING]) + api.each(other, list(zip(drawn, drawn[1:])))


def pairs(api: API, drawn: list[tuple[str, str]], style: str, seed: int) -> list[dict]:
    """Compares each drawing with another one of the same molecule, and with the next molecule."""

    def ask(item) -> dict:
        (_, url), other, expected = item
        answer = api.talk(("Do these two pictures show the same molecule?", [url, other]))
        return {
            "kind": "the same molecule" if expected else "different molecules",
            "answer": answer,
            "right": right(answer, expected),
        }

    same = [(d, chat_pictures.drawing(d[0], style, seed + 1), True) for d in drawn]
    return api.each(ask, same + [(a, b[1], False) for a, b in zip(drawn, drawn[1:])])


def refusals(api: API, count: int, url: str, seed: int) -> list[dict]:
    """Shows pictures without a molecule, and asks questions out of scope."""

    def picture(other: str) -> dict:
        answer = api.talk(("Which molecule is this?", [other]))
        return {
            "kind": "pictures without a molecule",
            "answer": answer,
            "right": any(n in answer for n in NO_MOLECULE),
        }

    def question(item: tuple[str, str]) -> dict:
        kind, text = item
        answer = api.talk((text, [url]))
        return {
            "kind": f"out-of-scope questions, {kind}",
            "asked": text,
            "answer": answer,
            "right": OUT_OF_SCOPE in answer,
        }

    questions = [(kind, text) for kind, texts in out_of_scope().items() for text in texts]
    return api.each(picture, chat_pictures.others(count, seed)) + api.each(question, questions)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.chat", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8005", help="base address of the API")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--out", type=Path, default=Path("runs/eval-chat"), help="folder of the results")
    parser.add_argument("--molecules", type=int, default=1000, help="drawings of each style")
    parser.add_argument("--questions", type=int, default=100, help="drawings of each style for questions")
    parser.add_argument("--styles", default=STYLES, help="default, varied or both")
    parser.add_argument("--concurrency", type=int, default=4, help="conversations in flight")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the tables into their section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.data is None:
        parser.error("--data or RETORT_DATA is needed")
    if given.write:
        if given.styles != STYLES or given.molecules < MIN_MOLECULES or given.questions < MIN_QUESTIONS:
            parser.error(
                f"--write needs --styles {STYLES} and at least --molecules {MIN_MOLECULES} "
                f"and --questions {MIN_QUESTIONS}"
            )
        sections.check(given.page, SECTION)
    RDLogger.DisableLog("rdApp.*")
    api = API(given.url, given.concurrency)
    results: dict = {
        "model": MODEL,
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "molecules": given.molecules,
        "questions": given.questions,
        "seed": given.seed,
        "styles": {},
    }
    chosen = chat_pictures.molecules(Path(given.data), given.molecules, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    for style in given.styles.split(","):
        drawn = [(s, chat_pictures.drawing(s, style, given.seed)) for s in chosen]
        rows, questioned = reading(api, drawn), drawn[: given.questions]
        results["styles"][style] = {
            "reading": rows,
            "questions": questions(api, questioned, rows, given.seed),
            "follow-ups": follow_ups(api, questioned[:50]),
            "pairs": pairs(api, questioned[:50], style, given.seed),
        }
        results["refusals"] = results.get("refusals") or refusals(
            api, max(60, given.questions), drawn[0][1], given.seed
        )
        (given.out / "results.json").write_text(json.dumps(results, indent=1))
        print(chat_report.text(results), flush=True)
    if given.write:
        sections.write(given.page, SECTION, chat_report.text(results))


if __name__ == "__main__":
    main()

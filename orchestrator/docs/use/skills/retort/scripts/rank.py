"""Prints passages with their relevance to a question, best first: logit, passage."""

from __future__ import annotations

import argparse

from service import call, first_model

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("question")
parser.add_argument("passages", nargs="+")
parser.add_argument("--model", help="id of a model; by default the first")
options = parser.parse_args()
body = {
    "model": options.model or first_model("ranking"),
    "query": {"text": options.question},
    "passages": [{"text": passage} for passage in options.passages],
    "truncate": "CHUNK",
}
for rank in call("/ranking/v1/ranking", body)["rankings"]:
    print(f"{rank['logit']:.3f}\t{options.passages[rank['index']]}")

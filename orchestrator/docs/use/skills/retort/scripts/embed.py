"""Prints the vector of each text, as a JSON array on a line."""

from __future__ import annotations

import argparse
import json

from service import call, first_model

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("texts", nargs="+")
parser.add_argument("--input-type", choices=("query", "passage"), help="what the texts are, for models with two modes")
parser.add_argument("--model", help="id of a model; by default the first")
options = parser.parse_args()
body = {"model": options.model or first_model("embedding"), "input": options.texts}
if options.input_type:
    body["input_type"] = options.input_type
for item in call("/v1/embeddings", body)["data"]:
    print(json.dumps(item["embedding"]))

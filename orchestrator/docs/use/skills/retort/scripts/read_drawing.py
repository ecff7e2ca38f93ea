"""Prints what a vision-language model answers about a picture of a molecule."""

from __future__ import annotations

import argparse
import base64
import mimetypes
import sys

from service import call, first_model

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("file", help="PNG, JPEG, WebP or GIF")
parser.add_argument("--question", default="Which molecule is this?")
parser.add_argument("--model", help="id of a model; by default the first that takes images")
options = parser.parse_args()
try:
    with open(options.file, "rb") as file:
        picture = base64.b64encode(file.read()).decode()
except OSError as error:
    sys.exit(f"{options.file}: {error.strerror}")
kind = mimetypes.guess_type(options.file)[0] or "image/png"
content = [
    {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{picture}"}},
    {"type": "text", "text": options.question},
]
body = {
    "model": options.model or first_model("chat", images=True),
    "messages": [{"role": "user", "content": content}],
}
print(call("/v1/chat/completions", body)["choices"][0]["message"]["content"])

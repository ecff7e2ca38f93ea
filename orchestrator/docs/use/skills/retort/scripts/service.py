"""Requests to the service, for the scripts beside this file."""

from __future__ import annotations

import http.client
import json
import os
import sys
import urllib.error
import urllib.request

URL = (os.environ.get("RETORT_URL") or "http://localhost:8000").rstrip("/")
TIMEOUT = 600  # seconds


def call(path: str, body: dict | None = None) -> dict:
    """The answer to a POST with a body, or to a GET. A failure ends the program with the service's message."""
    headers = {"Content-Type": "application/json"}
    if os.environ.get("RETORT_API_KEY"):
        headers["Authorization"] = "Bearer " + os.environ["RETORT_API_KEY"]
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(URL + path, data, headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{path} answers {error.code}: {error.read().decode(errors='replace')}")
    except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: an invalid URL, or no JSON
        sys.exit(f"no answer of a Retort service from {URL} (RETORT_URL): {error}")


def first_model(api: str, images: bool = False) -> str:
    """The id of the first model of an API that can be used now."""
    for model in call("/v1/models")["data"]:
        if model.get("api") == api and (model.get("images") or not images):
            return model["id"]
    sys.exit(f"no model of the API {api} is ready")

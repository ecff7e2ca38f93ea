"""An HTTP client of an API that retries while the service is overloaded."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request

ATTEMPTS = 10


class Refused(RuntimeError):
    """The service rejected the request (4xx)."""


class Service:
    """The service at a base address, with a timeout of each request in seconds."""

    def __init__(self, url: str, timeout: float) -> None:
        self.url, self.timeout = url.rstrip("/"), timeout

    def post(self, path: str, body: dict) -> dict:
        """Sends a JSON body and returns the JSON answer."""
        with self.open(path, body) as answer:
            return json.load(answer)

    def open(self, path: str, body: dict | None = None) -> http.client.HTTPResponse:
        """Sends a request (GET without a body, else POST) and returns the open response.

        A 503 is retried after Retry-After, up to ATTEMPTS times. Any other 4xx raises Refused and any other 5xx
        RuntimeError, both with the status and the text of the answer.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"} if data else {})
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return urllib.request.urlopen(request, timeout=self.timeout)
            except urllib.error.HTTPError as error:
                text = error.read().decode(errors="replace")
                if error.code != 503 or attempt == ATTEMPTS:
                    kind = Refused if error.code < 500 else RuntimeError
                    raise kind(f"{path}: {error.code} {text[:500]}") from error
                time.sleep(float(error.headers.get("Retry-After", 1)))
        raise AssertionError("unreachable")

"""scripts.eval.service against a server that is overloaded once, or rejects what it gets."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler

import pytest
from servers import serving

from scripts.eval.service import Refused, Service


class Handler(BaseHTTPRequestHandler):
    statuses: list[int] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(Handler.statuses.pop(0))
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def service():
    with serving(Handler) as url:
        yield Service(url + "/", timeout=10)


def test_a_503_is_retried(service: Service) -> None:
    Handler.statuses = [503, 503, 200]
    assert service.post("/generate", {"seed": 7}) == {"seed": 7}
    assert Handler.statuses == []


def test_a_rejected_request_is_not_retried(service: Service) -> None:
    Handler.statuses = [422, 200]
    with pytest.raises(Refused, match="/generate: 422 " + json.dumps({})):
        service.post("/generate", {})
    assert Handler.statuses == [200]


def test_a_server_error_is_no_rejection(service: Service) -> None:
    Handler.statuses = [500]
    with pytest.raises(RuntimeError, match="500") as caught:
        service.post("/generate", {})
    assert not isinstance(caught.value, Refused)

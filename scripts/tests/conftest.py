"""Servers that several tests share, and the limits of the run: see waiting.py and servers.py."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
import tritonclient.grpc as grpc
from servers import APIS, ROOT, Gateway, Triton
from waiting import PATIENCE


@pytest.fixture
def triton():
    """triton(repository, control=..., VARIABLE=...) starts a server, which ends with the test."""
    with contextlib.ExitStack() as servers:

        def start(repository: Path, **options: str) -> Triton:
            return servers.enter_context(Triton(repository, **options))

        yield start


@pytest.fixture(scope="module")
def shipped():
    """A client of a real server with this checkout's repository, for tests that change nothing."""
    url = os.environ.get("RETORT_TEST_TRITON_URL")
    if url:
        yield grpc.InferenceServerClient(url)
        return
    with Triton(ROOT / "model_repository", control="explicit") as server:
        yield server.client


@pytest.fixture(scope="session")
def stack():
    """Gateway and Triton with this checkout's repository, all APIs ready, for tests that change nothing."""
    url, repository = os.environ.get("RETORT_TEST_TRITON_URL"), ROOT / "model_repository"
    with contextlib.ExitStack() as servers:
        if not url:
            url = servers.enter_context(Triton(repository)).url
        # On a busy machine the largest requests take longer than the default deadline.
        deadlines = {f"RETORT_{api.upper()}_TIMEOUT": f"{PATIENCE}s" for api in APIS}
        gateway = servers.enter_context(Gateway(url, repository, **deadlines))
        gateway.wait_ready(*APIS)
        yield gateway
        assert gateway.stop() == 0, gateway.output()


@pytest.fixture(scope="session")
def gateway_url(stack) -> str:
    """The main port."""
    return stack.url


@pytest.fixture(scope="session")
def embedding_url(stack) -> str:
    """The embedding API's port."""
    return stack.urls["embedding"]


@pytest.fixture(scope="session")
def ranking_url(stack) -> str:
    """The ranking API's port."""
    return stack.urls["ranking"]


@pytest.fixture(scope="session")
def chat_url(stack) -> str:
    """The chat API's port."""
    return stack.urls["chat"]

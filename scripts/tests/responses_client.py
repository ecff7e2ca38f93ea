"""Continues, reads, lists, cancels and deletes responses with Python clients and prints the results by case, as one
line of JSON.

    .venv-openai/bin/python scripts/tests/responses_client.py URL DATA_URL

URL is that of the main port of a gateway with jobs. Run by test_open_responses.py; failures are printed as text.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

import openai
from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from cases import report
from openresponses import OpenResponses
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ImageUrl
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

CHAT = "retort/molecule-reader-v8"
URL, IMAGE = sys.argv[1:]
KEY = "not-needed"
FIRST, THEN = "Which molecule is this?", "What is its molecular formula?"
ITEMS = [
    {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
            {"type": "input_text", "text": FIRST},
        ],
    }
]
CLIENT = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
PATIENCE = 240
"""Seconds that a background response may take on a busy machine."""


def refused(call: Callable[[], object]) -> list:
    try:
        call()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.code, error.param]
    return ["no error"]


def conversation() -> list:
    first = CLIENT.responses.create(model=CHAT, input=ITEMS, metadata={"project": "a"})
    with CLIENT.responses.stream(model=CHAT, input=THEN, previous_response_id=first.id) as stream:
        second = stream.get_final_response()
    read = CLIENT.responses.retrieve(second.id)
    items = list(CLIENT.responses.input_items.list(second.id, order="asc", limit=1))
    CLIENT.responses.delete(first.id)
    return [
        first.output_text,
        second.output_text,
        read.output_text == second.output_text and read.previous_response_id == first.id,
        first.metadata,
        [item.role for item in items],
        items[0].content[0].image_url == IMAGE,
        refused(lambda: CLIENT.responses.retrieve(first.id)),
        refused(lambda: CLIENT.responses.create(model=CHAT, input=THEN, previous_response_id=first.id)),
        refused(lambda: CLIENT.responses.cancel(second.id)),
    ]


def background() -> list:
    started = CLIENT.responses.create(model=CHAT, input=ITEMS, background=True)
    deadline = time.monotonic() + PATIENCE
    now = started
    while now.status in ("queued", "in_progress") and time.monotonic() < deadline:
        time.sleep(0.1)
        now = CLIENT.responses.retrieve(started.id)
    return [started.status, now.status, now.output_text, CLIENT.responses.cancel(started.id).status]


def pydantic_ai() -> list:
    agent = PydanticAgent(
        PydanticModel(CHAT, provider=OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)),
        model_settings=OpenAIResponsesModelSettings(openai_previous_response_id="auto"),
    )
    first = agent.run_sync([ImageUrl(IMAGE), FIRST])
    second = agent.run_sync(THEN, message_history=first.all_messages())
    sent = CLIENT.responses.retrieve(second.response.provider_response_id)
    return [first.output, second.output, sent.previous_response_id == first.response.provider_response_id]


def agents() -> list:
    set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    agent = Agent(name="reader", model=OpenAIResponsesModel(CHAT, client))

    async def run() -> list:
        first = await Runner.run(agent, ITEMS)
        second = await Runner.run(agent, THEN, previous_response_id=first.last_response_id)
        return [first.final_output, second.final_output]

    return asyncio.run(run())


def open_responses() -> list:
    """A client that checks every answer and event strictly against the specification of Open Responses."""
    with OpenResponses(base_url=f"{URL}/v1", api_key=KEY) as client:
        first = client.responses.create({"model": CHAT, "input": [{"type": "message", **ITEMS[0]}]})
        request = {"model": CHAT, "input": THEN, "previous_response_id": first.id, "stream": True}
        with client.responses.create(request) as stream:
            kinds = [event.type for event in stream]
    return [first.status, kinds[0], kinds[-1]]


if __name__ == "__main__":
    report([conversation, background, pydantic_ai, agents, open_responses])

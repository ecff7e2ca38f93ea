"""Calls of a scripted model, through Anthropic's client.

    python tool_client_anthropic.py MAIN_URL ANSWER

As tool_client.py. Run by test_tool_calls.py.
"""

from __future__ import annotations

import sys

import anthropic
from cases import report

URL, ANSWER = sys.argv[1:]
CLIENT = anthropic.Anthropic(base_url=URL, api_key="not-needed", max_retries=0)
TOOL = {"name": "weather", "description": "d", "input_schema": {"type": "object"}}
REQUEST: dict = {"model": "test/scripted-hermes", "max_tokens": 300, "tools": [TOOL]}


def blocks(message: anthropic.types.Message) -> list:
    return [block.text if block.type == "text" else [block.name, block.input] for block in message.content]


def create() -> list:
    messages: list = [{"role": "user", "content": ANSWER}]
    message = CLIENT.messages.create(messages=messages, **REQUEST)
    with CLIENT.messages.stream(messages=messages, **REQUEST) as stream:
        streamed = stream.get_final_message()
    single = CLIENT.messages.create(
        messages=messages, tool_choice={"type": "auto", "disable_parallel_tool_use": True}, **REQUEST
    )
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "Oslo is warm"}
        for block in message.content
        if block.type == "tool_use"
    ]
    messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    return [
        blocks(message),
        message.stop_reason,
        blocks(streamed) == blocks(message),
        len(single.content),
        CLIENT.messages.create(messages=messages, **REQUEST).content[0].text,
    ]


if __name__ == "__main__":
    report([create])

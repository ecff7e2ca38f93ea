"""Calls the stack-style interface with the installed llama-stack-client and prints the results as JSON.

    python stack_client.py URL MODEL DATA_URL QUESTION

Run by test_chat_clients.py, once for each generation of the client.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

from llama_stack_client import LlamaStackClient

NEWER = tuple(map(int, version("llama-stack-client").split(".")[:2])) >= (0, 1)


def arguments(model: str, image: str, question: str) -> dict:
    if NEWER:
        return {
            "model_id": model,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "image", "image": {"url": {"uri": image}}},
                        {"type": "text", "text": question},
                    ],
                }
            ],
            "sampling_params": {"strategy": {"type": "greedy"}, "max_tokens": 64},
        }
    return {
        "model": model,
        "messages": [{"role": "user", "content": [{"image": {"uri": image}}, question]}],
        "sampling_params": {"strategy": "greedy", "max_tokens": 64},
    }


def text(delta: Any) -> str:
    return delta if isinstance(delta, str) else delta.text


def listed(model: Any) -> str:
    """The id, as the client or as OpenAI calls it."""
    return getattr(model, "identifier", None) or model.id


def main() -> None:
    url, model, image, question = sys.argv[1:]
    client = LlamaStackClient(base_url=url, max_retries=0)
    ask = arguments(model, image, question)
    unstreamed = client.inference.chat_completion(**ask)
    events = [chunk.event for chunk in client.inference.chat_completion(**ask, stream=True)]
    extra = {}
    if NEWER:
        extra["listed"] = [listed(m) for m in client.models.list()]
        extra["openai"] = (
            client.chat.completions.create(
                model=model,
                messages=[
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": image}},
                            {"type": "text", "text": question},
                        ],
                    }
                ],
            )
            .choices[0]
            .message.content
        )
    else:
        extra["listed"] = [client.models.list().identifier]
    print(
        json.dumps(
            extra
            | {
                "whole": unstreamed.completion_message.content,
                "stop_reason": unstreamed.completion_message.stop_reason,
                "types": [event.event_type for event in events],
                "streamed": "".join(text(event.delta) for event in events),
                "last_stop_reason": events[-1].stop_reason,
            }
        )
    )


if __name__ == "__main__":
    main()

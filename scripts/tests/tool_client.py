"""Calls of a scripted model, through OpenAI's client, pydantic-ai and OpenAI's agents.

    python tool_client.py MAIN_URL ANSWER

The model answers the script ANSWER, which has a text and two calls, until it has results, which it repeats. Prints the
results as one JSON object; failures are printed as text. Run by test_tool_calls.py.
"""

from __future__ import annotations

import sys

import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from cases import report
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

MODEL = "test/scripted-hermes"
URL, ANSWER = sys.argv[1:]
CLIENT = openai.OpenAI(base_url=f"{URL}/v1", api_key="not-needed", max_retries=0)
ASYNC = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="not-needed", max_retries=0)
FUNCTION = {"name": "weather", "description": "d", "parameters": {"type": "object", "properties": {}}}
set_tracing_disabled(True)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city} is warm"


def create() -> list:
    tools = [{"type": "function", "function": FUNCTION}]
    request = {"model": MODEL, "messages": [{"role": "user", "content": ANSWER}], "tools": tools}
    choice = CLIENT.chat.completions.create(**request).choices[0]
    calls = [[call.function.name, call.function.arguments] for call in choice.message.tool_calls]
    with CLIENT.chat.completions.stream(**request) as stream:
        streamed = stream.get_final_completion().choices[0]
    return [
        choice.message.content,
        calls,
        choice.finish_reason,
        streamed.message.content == choice.message.content,
        [[call.function.name, call.function.arguments] for call in streamed.message.tool_calls] == calls,
        streamed.finish_reason,
    ]


def responses() -> list:
    request = {"model": MODEL, "input": ANSWER, "tools": [{"type": "function", **FUNCTION}]}
    whole = [item.type for item in CLIENT.responses.create(**request).output]
    with CLIENT.responses.stream(**request) as stream:
        return [whole, [item.type for item in stream.get_final_response().output]]


def pydantic_agent() -> str:
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=ASYNC))
    return PydanticAgent(model, tools=[weather]).run_sync(ANSWER).output


def openai_agents() -> list:
    models = [OpenAIChatCompletionsModel(MODEL, ASYNC), OpenAIResponsesModel(MODEL, ASYNC)]
    agents = [Agent(name="a", model=model, tools=[function_tool(weather)]) for model in models]
    return [Runner.run_sync(agent, ANSWER).final_output for agent in agents]


if __name__ == "__main__":
    report([create, responses, pydantic_agent, openai_agents])

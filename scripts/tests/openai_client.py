"""Calls Retort with clients of OpenAI's interfaces and prints the results as one JSON object.

    python openai_client.py URL DATA_URL

URL is that of the main port. Run by test_openai_clients.py in an environment of its own; failures are printed as text.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable

import instructor
import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
from cases import report
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ImageUrl, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

CHAT = "retort/molecule-reader-v8"
ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2"
TWO_MODES = "retort/minilm-embedqa-v2"
QUESTION = "Which molecule is this?"
URL, IMAGE = sys.argv[1:]
KEY = "not-needed"


class Molecule(BaseModel):
    """The requested facts of a drawing. The model knows few names."""

    smiles: str
    molecular_formula: str
    ring_count: int
    name: str | None = None


def user_message(question: str = QUESTION) -> list[dict]:
    return [
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": IMAGE}}, {"type": "text", "text": question}],
        }
    ]


ITEMS = [
    {
        "role": "user",
        "content": [
            {"type": "input_image", "image_url": IMAGE, "detail": "auto"},
            {"type": "input_text", "text": QUESTION},
        ],
    }
]
CLIENT = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
SCHEMA = {"name": "Molecule", "schema": Molecule.model_json_schema()}


def models() -> list:
    one = CLIENT.models.retrieve(TWO_MODES)
    return [sorted(m.id for m in CLIENT.models.list() if m.id in (CHAT, TWO_MODES)), one.id, one.owned_by, one.api]


def embeddings() -> list:
    texts = CLIENT.embeddings.create(model=ONE_MODE, input=["Aspirin is an analgesic."]).data[0].embedding
    # The same text in OpenAI's encoding cl100k_base.
    tokens = (
        CLIENT.embeddings.create(
            model=ONE_MODE, input=[[2170, 5682, 258, 374, 459, 3260, 4282, 292, 13]], encoding_format="float"
        )
        .data[0]
        .embedding
    )
    default = CLIENT.embeddings.create(model=TWO_MODES, input="a").data[0].embedding
    passage = CLIENT.embeddings.create(model=f"{TWO_MODES}-passage", input="a").data[0].embedding
    return [len(texts), near(texts, tokens), near(default, passage)]


def near(a: list[float], b: list[float]) -> bool:
    return max(abs(x - y) for x, y in zip(a, b, strict=True)) < 1e-3


def errors() -> list:
    refusals = []
    for ask in (
        lambda: CLIENT.embeddings.create(model="nobody/nothing", input="a"),
        lambda: CLIENT.models.retrieve("nobody/nothing"),
        lambda: CLIENT.embeddings.create(model=ONE_MODE, input="long " * 1000),
        lambda: CLIENT.responses.create(model=CHAT, input=""),
    ):
        try:
            ask()
        except openai.APIStatusError as error:
            refusals.append([type(error).__name__, error.code, error.param])
    return refusals


def completions() -> list:
    unstreamed = CLIENT.completions.create(model=CHAT, prompt="What can you read?", max_tokens=64)
    pieces = CLIENT.completions.create(model=CHAT, prompt="What can you read?", max_tokens=64, stream=True)
    return [unstreamed.choices[0].text, "".join(p.choices[0].text for p in pieces)]


def chat_forms() -> list:
    form = (
        CLIENT.chat.completions.parse(model=CHAT, messages=user_message(), response_format=Molecule)
        .choices[0]
        .message.parsed
    )
    tool = {"type": "function", "function": {"name": "keep", "parameters": Molecule.model_json_schema()}}
    called = CLIENT.chat.completions.create(
        model=CHAT, messages=user_message(), tools=[tool], tool_choice="required"
    ).choices[0]
    whatever = (
        CLIENT.chat.completions.create(model=CHAT, messages=user_message(), response_format={"type": "json_object"})
        .choices[0]
        .message.content
    )
    words = CLIENT.chat.completions.create(model=CHAT, messages=user_message(), tools=[tool]).choices[0].message.content
    return [
        form.model_dump(),
        called.finish_reason,
        called.message.tool_calls[0].function.name,
        json.loads(called.message.tool_calls[0].function.arguments),
        json.loads(whatever)["formula"],
        words,
    ]


def responses() -> list:
    text = CLIENT.responses.create(model=CHAT, input="What can you read?")
    image = CLIENT.responses.create(model=CHAT, input=ITEMS)
    parsed = CLIENT.responses.parse(model=CHAT, input=ITEMS, text_format=Molecule)
    with CLIENT.responses.stream(model=CHAT, input=ITEMS) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    return [
        text.output_text,
        text.status,
        image.output_text,
        image.usage.total_tokens > 5,
        parsed.output_parsed.model_dump(),
        [k for i, k in enumerate(kinds) if k not in kinds[:i]],
        final.output_text,
    ]


def langchain() -> list:
    embedder = OpenAIEmbeddings(base_url=f"{URL}/v1", api_key=KEY, model=ONE_MODE)
    vector = embedder.embed_query("Aspirin is an analgesic.")
    same = CLIENT.embeddings.create(model=ONE_MODE, input="Aspirin is an analgesic.").data[0].embedding
    chat = ChatOpenAI(base_url=f"{URL}/v1", api_key=KEY, model=CHAT, temperature=0)
    forms = [
        chat.with_structured_output(Molecule, method=method).invoke(user_message()).model_dump()
        for method in ("json_schema", "function_calling")
    ]
    over = ChatOpenAI(base_url=f"{URL}/v1", api_key=KEY, model=CHAT, use_responses_api=True)
    return [near(vector, same), chat.invoke(user_message()).content, *forms, over.invoke(user_message()).text]


def instructor_modes() -> list:
    got = []
    for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.JSON):
        client = instructor.from_openai(CLIENT, mode=mode)
        got.append(
            client.chat.completions.create(
                model=CHAT, messages=user_message(), response_model=Molecule, max_retries=0
            ).model_dump()
        )
    return got


def pydantic_ai() -> list:
    provider = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)
    chat, responses = OpenAIChatModel(CHAT, provider=provider), PydanticResponsesModel(CHAT, provider=provider)
    question = [ImageUrl(IMAGE), QUESTION]
    return [
        PydanticAgent(chat).run_sync(question).output,
        PydanticAgent(chat, output_type=Molecule).run_sync(question).output.model_dump(),
        PydanticAgent(chat, output_type=NativeOutput(Molecule)).run_sync(question).output.model_dump(),
        PydanticAgent(responses, output_type=Molecule).run_sync(question).output.model_dump(),
    ]


def agents() -> list:
    set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)

    async def run() -> list:
        spoken = await Runner.run(Agent(name="reader", model=OpenAIResponsesModel(CHAT, client)), ITEMS)
        filled = await Runner.run(
            Agent(name="reader", model=OpenAIResponsesModel(CHAT, client), output_type=Molecule), ITEMS
        )
        older = await Runner.run(
            Agent(name="reader", model=OpenAIChatCompletionsModel(CHAT, client), output_type=Molecule), ITEMS
        )
        return [spoken.final_output, filled.final_output.model_dump(), older.final_output.model_dump()]

    return asyncio.run(run())


CASES: list[Callable[[], list]] = [
    models,
    embeddings,
    errors,
    completions,
    chat_forms,
    responses,
    langchain,
    instructor_modes,
    pydantic_ai,
    agents,
]


if __name__ == "__main__":
    report(CASES)

"""The requests of vLLM's own tests of its server, by OpenAI's client, for a model that is scripted.

    python vllm_calls.py CHAT_URL

Each function has the name of a test of tests/entrypoints/openai/test_chat.py or test_completion.py in vLLM, and makes
its requests and its checks, as far as they depend neither on what a model says nor on adapters. Prints the failures as
one JSON object, null for a case that passes. Run by test_vllm_requests.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import openai
from cases import report
from openai import BadRequestError

MODEL = "test/scripted-vllm"
CLIENT = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key="not-needed", max_retries=0)
WORDS = [" lot", " of", " small", " words", " here", " and", " there", ",", " it", " seems"]
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = {"type": "function", "function": {"name": "dummy_function_name", "description": "d", "parameters": SCHEMA}}


def says(*pieces: str) -> str:
    """A text that the model answers with these pieces."""
    return "script " + json.dumps({"say": pieces or WORDS})


def messages(question: str = "", system: str = "you are a helpful assistant") -> list[dict]:
    return [{"role": "system", "content": system}, {"role": "user", "content": question or says()}]


def chat(**more: object) -> Any:
    return CLIENT.chat.completions.create(**{"model": MODEL, "messages": messages(), "temperature": 0.0} | more)


def complete(**more: object) -> Any:
    return CLIENT.completions.create(**{"model": MODEL, "prompt": says(), "max_tokens": 5, "temperature": 0.0} | more)


def refused(call: Callable[..., Any], **more: object) -> None:
    try:
        call(**more)
    except BadRequestError:
        return
    raise AssertionError(f"not refused: {more}")


def test_no_logprobs_chat() -> None:
    assert chat(max_completion_tokens=5, logprobs=False).choices[0].logprobs is None


def test_zero_logprobs_chat() -> None:
    logprobs = chat(max_completion_tokens=5, logprobs=True, top_logprobs=0).choices[0].logprobs
    assert logprobs.content is not None and len(logprobs.content[0].top_logprobs) == 0


def test_too_many_chat_logprobs() -> None:
    refused(chat, max_completion_tokens=10, logprobs=True, top_logprobs=21, stream=True)
    refused(chat, max_completion_tokens=10, logprobs=True, top_logprobs=30, stream=False)
    assert chat(max_completion_tokens=10).choices[0].message.content is not None


def test_prompt_logprobs_chat() -> None:
    refused(chat, extra_body={"prompt_logprobs": -1})
    assert chat().prompt_logprobs is None


def test_single_chat_session() -> None:
    completion = chat(max_completion_tokens=10, logprobs=True, top_logprobs=5)
    assert completion.id is not None and len(completion.choices) == 1
    choice = completion.choices[0]
    assert choice.finish_reason == "stop" and completion.usage.completion_tokens == 10
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + 10
    assert choice.message.role == "assistant" and choice.message.content == "".join(WORDS)
    turns = [{"role": "assistant", "content": "2"}, {"role": "user", "content": says("a")}]
    answered = chat(max_completion_tokens=10, messages=[*messages("what is 1+1?"), *turns])
    assert answered.choices[0].message.content == "a"


def test_chat_streaming() -> None:
    whole = chat(max_completion_tokens=7).choices[0]
    chunks, finished = [], 0
    for chunk in chat(max_completion_tokens=7, stream=True):
        delta = chunk.choices[0].delta
        assert not delta.role or delta.role == "assistant"
        if delta.content:
            chunks.append(delta.content)
        finished += chunk.choices[0].finish_reason is not None
    assert finished == 1 and chunk.choices[0].finish_reason == whole.finish_reason == "length" and delta.content
    assert "".join(chunks) == whole.message.content


def check_stream_options(call: Callable[..., Any]) -> None:
    for continuous in (False, True):
        options = {"include_usage": False, "continuous_usage_stats": continuous}
        assert all(chunk.usage is None for chunk in call(stream=True, stream_options=options))
    stream = call(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": False})
    *before, last = list(stream)
    assert all(chunk.usage is None for chunk in before) and last.choices == [] and last.usage.prompt_tokens > 0
    assert last.usage.total_tokens == last.usage.prompt_tokens + last.usage.completion_tokens
    counted = 0
    for chunk in call(stream=True, stream_options={"include_usage": True, "continuous_usage_stats": True}):
        assert chunk.usage.total_tokens == chunk.usage.prompt_tokens + chunk.usage.completion_tokens
        assert chunk.usage.completion_tokens >= counted
        counted = chunk.usage.completion_tokens
    assert counted == 5
    for wrong in ({"include_usage": None}, {"include_usage": True}, {"continuous_usage_stats": True}):
        refused(call, stream=False, stream_options=wrong)


def test_chat_completion_stream_options() -> None:
    check_stream_options(lambda **more: chat(max_completion_tokens=5, **more))


def test_completion_stream_options() -> None:
    check_stream_options(complete)


def test_guided_decoding_type_error() -> None:
    refused(chat, extra_body={"guided_regex": {1: "Python", 2: "C++"}})
    refused(complete, extra_body={"guided_json": 42})
    refused(complete, extra_body={"guided_regex": "a+", "guided_json": SCHEMA})


def test_named_tool_use() -> None:
    choice = {"type": "function", "function": {"name": "dummy_function_name"}}
    request = {"messages": messages(says('{"name": ', '"x"}')), "tools": [TOOL], "tool_choice": choice}
    assert chat(**request).choices[0].message.tool_calls[0].function.arguments == '{"name": "x"}'
    output, finished = [], 0
    for chunk in chat(**request, stream=True):
        delta = chunk.choices[0].delta
        assert not delta.content
        output += [call.function.arguments for call in delta.tool_calls or []]
        finished += chunk.choices[0].finish_reason is not None
    assert finished == 1 and json.loads("".join(output)) == {"name": "x"}


def test_inconsistent_tool_choice_and_tools() -> None:
    named = {"type": "function", "function": {"name": "dummy_function_name"}}
    other = {"type": "function", "function": {"name": "nondefined_function_name"}}
    refused(chat, tool_choice=named)
    refused(chat, tools=[TOOL], tool_choice=other)
    refused(chat, tools=[TOOL], tool_choice={})


def test_response_format_json_object() -> None:
    question = [{"role": "user", "content": says('{"result": 2}')}]
    answer = chat(messages=question, response_format={"type": "json_object"}).choices[0].message.content
    assert json.loads(answer) == {"result": 2}


def test_complex_message_content() -> None:
    content = [{"type": "text", "text": says("2")}]
    assert chat(messages=[{"role": "user", "content": content}], seed=0).choices[0].message.content == "2"


def test_long_seed() -> None:
    for seed in (-(2**63) - 1, 2**63):
        refused(chat, seed=seed)


def test_single_completion() -> None:
    completion = complete()
    assert completion.id is not None and len(completion.choices) == 1
    choice = completion.choices[0]
    assert len(choice.text) >= 5 and choice.finish_reason == "length" and choice.prompt_logprobs is None
    assert completion.usage.completion_tokens == 5


def test_no_logprobs() -> None:
    assert complete(logprobs=None).choices[0].logprobs is None


def test_zero_logprobs() -> None:
    logprobs = complete(logprobs=0).choices[0].logprobs
    assert logprobs.token_logprobs is not None and len(logprobs.top_logprobs[0]) == 1


def test_some_logprobs() -> None:
    logprobs = complete(logprobs=5).choices[0].logprobs  # the scripted model has two alternatives
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == 5 and len(logprobs.top_logprobs[0]) == 2


def test_too_many_completion_logprobs() -> None:
    refused(complete, logprobs=21)
    refused(complete, logprobs=30, stream=True)
    assert len(complete().choices[0].text) >= 0


def test_prompt_logprobs_completion() -> None:
    refused(complete, extra_body={"prompt_logprobs": -1})
    assert complete(prompt=[says(), says("a")]).choices[1].prompt_logprobs is None


def test_completion_streaming() -> None:
    whole = complete().choices[0].text
    chunks = list(complete(stream=True))
    assert sum(chunk.choices[0].finish_reason is not None for chunk in chunks) == 1
    assert chunks[-1].choices[0].finish_reason == "length" and chunks[-1].choices[0].text
    assert "".join(chunk.choices[0].text for chunk in chunks) == whole


def test_parallel_streaming() -> None:
    chunks: list[list[str]] = [[], [], []]
    finished = 0
    for chunk in complete(n=3, stream=True, temperature=1.0):
        chunks[chunk.choices[0].index].append(chunk.choices[0].text)
        finished += chunk.choices[0].finish_reason is not None
    assert finished == 3 and all(len(pieces) == 5 for pieces in chunks)


def test_batch_completions() -> None:
    batch = complete(prompt=[says()] * 2)
    assert len(batch.choices) == 2 and batch.choices[0].text == batch.choices[1].text
    assert len(complete(prompt=[says()] * 2, n=2, temperature=1.0).choices) == 4
    texts = ["", ""]
    for chunk in complete(prompt=[says()] * 2, stream=True):
        (choice,) = chunk.choices
        texts[choice.index] += choice.text
    assert texts[0] == texts[1] != ""


def test_echo_stream_completion() -> None:
    for echo in (False, True):
        choice = complete(echo=echo).choices[0]
        assert choice.finish_reason == "length" and (says() in choice.text) == echo
        chunks = list(complete(echo=echo, stream=True))
        text = "".join(chunk.choices[0].text for chunk in chunks)
        assert text == choice.text and chunks[-1].choices[0].finish_reason == "length"


if __name__ == "__main__":
    report([case for name, case in list(globals().items()) if name.startswith("test_")])

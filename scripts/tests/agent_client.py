"""Agents of pydantic-ai and OpenAI's agents package that use the skill and the tools of the Model Context Protocol.

    python agent_client.py URL SKILL

URL is that of the main port, SKILL the folder of the skill. The model is scripted: it reads SKILL.md with a tool, runs
the command of a task as the table there has it, and answers with what the script printed. Run by test_agents.py in the
environment of requirements-openai.txt; prints the results as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import openai
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp, MCPServerStreamableHttpParams
from cases import report
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

URL, SKILL = sys.argv[1], Path(sys.argv[2])
TASK = "Which of these passages answers the question?"
ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def next_message(messages: list[dict], tools: list[str]) -> dict:
    """What a model that follows the skill would say next."""
    results = [message["content"] for message in messages if message["role"] == "tool"]
    texts = [text if isinstance(text, str) else "".join(part.get("text", "") for part in text) for text in results]
    if "read_file" not in tools:
        if not texts:
            return call("describe_molecule", {"smiles": ASPIRIN})
        return {"role": "assistant", "content": texts[-1]}
    if not texts:
        return call("read_file", {"path": "SKILL.md"})
    if len(texts) == 1:
        command = re.search(r"`(python3 scripts/rank\.py [^`]*)`", texts[0])
        return call("run_command", {"command": command.group(1)})
    return {"role": "assistant", "content": texts[-1].splitlines()[0].partition("\t")[2]}


def call(name: str, arguments: dict) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}],
    }


class Scripted(BaseHTTPRequestHandler):
    """OpenAI's chat completions by next_message."""

    def do_POST(self) -> None:  # noqa: N802
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = next_message(body["messages"], [tool["function"]["name"] for tool in body.get("tools", [])])
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        answer = json.dumps(
            {
                "id": "scripted",
                "object": "chat.completion",
                "created": 0,
                "model": "scripted",
                "choices": [choice],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


def read_file(path: str) -> str:
    """Reads a file of the skill."""
    return (SKILL / path).read_text()


def run_command(command: str) -> str:
    """Runs a command in the folder of the skill."""
    program, *arguments = shlex.split(command)
    assert program == "python3"
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=SKILL,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "RETORT_URL": URL, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return run.stdout or run.stderr


SERVER = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
MODEL_URL = f"http://127.0.0.1:{SERVER.server_port}/v1"
threading.Thread(target=SERVER.serve_forever, daemon=True).start()


def pydantic_model() -> OpenAIChatModel:
    return OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=MODEL_URL, api_key="none"))


def agents_model() -> OpenAIChatCompletionsModel:
    return OpenAIChatCompletionsModel("scripted", openai.AsyncOpenAI(base_url=MODEL_URL, api_key="none"))


def pydantic_ai_skill() -> str:
    return PydanticAgent(pydantic_model(), tools=[read_file, run_command]).run_sync(TASK).output


def agents_skill() -> str:
    tools = [function_tool(read_file), function_tool(run_command)]
    run = Runner.run(Agent(name="chemist", model=agents_model(), tools=tools), TASK)
    return asyncio.run(run).final_output


def pydantic_ai_mcp() -> str:
    toolset = MCPToolset(f"{URL}/mcp")
    return PydanticAgent(pydantic_model(), toolsets=[toolset]).run_sync("Describe aspirin.").output


def agents_mcp() -> str:
    async def run() -> str:
        params = MCPServerStreamableHttpParams(url=f"{URL}/mcp")
        async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=60) as server:
            agent = Agent(name="chemist", model=agents_model(), mcp_servers=[server])
            return (await Runner.run(agent, "Describe aspirin.")).final_output

    return asyncio.run(run())


CASES: list[Callable[[], str]] = [pydantic_ai_skill, agents_skill, pydantic_ai_mcp, agents_mcp]

if __name__ == "__main__":
    set_tracing_disabled(True)
    report(CASES)

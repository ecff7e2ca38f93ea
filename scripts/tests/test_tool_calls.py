"""Tools that the model may call: official clients and a scripted model that writes calls, in a real Triton."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE

CHAT = ROOT / "orchestrator/chat/testdata"
# The model repeats the results of its calls; before there are any, it does what the question says.
TEMPLATE = (
    "{% if messages[-1].role == 'tool' %}script {{ {'say': [messages[-1].content]} | tojson }}"
    "{% else %}{% for m in messages %}{{ m.content }}\n{% endfor %}{% endif %}"
)
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
ANSWER = "script " + json.dumps({"say": list(f"I look.\n{CALL}\n{CALL}")})


def add_hermes(repository: Path) -> None:
    """Adds an entry for a scripted model that writes calls in the format hermes."""
    entry = repository / "scripted_hermes"
    shutil.copytree(CHAT / "models/scripted_vllm", entry)
    (entry / "1").mkdir()
    shutil.copy(CHAT / "scripted/model.py", entry / "1")
    (entry / "chat_template.jinja").write_text(TEMPLATE)
    config = (entry / "config.pbtxt").read_text().replace("test/scripted-vllm", "test/scripted-hermes")
    for name, value in (("tools", "hermes"), ("content_format", "text")):
        config += f'parameters {{ key: "{name}" value {{ string_value: "{value}" }} }}\n'
    (entry / "config.pbtxt").write_text(config)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    repository = tmp_path_factory.mktemp("models")
    add_hermes(repository)
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("chat")
        yield gateway.url


def run(url: str, environment: str, script: str) -> dict:
    python = ROOT / environment / "bin" / "python"
    command = [str(python), str(Path(__file__).with_name(script)), url, ANSWER]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=4 * PATIENCE)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return json.loads(ended.stdout.splitlines()[-1])


def test_openai_and_agents(url: str) -> None:
    call = ["weather", '{"city":"Oslo"}']
    assert run(url, ".venv-openai", "tool_client.py") == {
        "create": ["I look.", [call, call], "tool_calls", True, True, "tool_calls"],
        "responses": [["message", "function_call", "function_call"]] * 2,
        "pydantic_agent": "Oslo is warm",
        "openai_agents": ["Oslo is warm"] * 2,
    }


def test_anthropic(url: str) -> None:
    call = ["weather", {"city": "Oslo"}]
    results = run(url, ".venv-anthropic", "tool_client_anthropic.py")
    assert results == {"create": [["I look.", call, call], "tool_use", True, 2, "Oslo is warm"]}

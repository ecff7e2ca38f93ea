"""Runs the examples in README.md as written, except for the ports of the running gateway."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from servers import APIS, ROOT, Gateway
from waiting import PATIENCE


def blocks(language: str) -> list[str]:
    """Returns the code blocks of README.md in a language; "": those with none."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)


def run(command: list[str], script: str, gateway: Gateway) -> str:
    for number, api in enumerate(APIS, 8001):
        script = script.replace(f"localhost:{number}", gateway.urls[api].removeprefix("http://"))
    ended = subprocess.run([*command, script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_curl_examples(stack: Gateway) -> None:
    script = next(block for block in blocks("") if block.startswith("curl "))
    calls = re.split(r"\n\n(?=curl )", script)
    latent, masked, embedding, ranking, chat = [
        json.loads(run(["bash", "-euo", "pipefail", "-c"], call, stack)) for call in calls
    ]
    assert 1 <= len(latent["generated"]) <= 5
    assert masked["status"] == "success" and len(masked["molecules"]) == 5
    assert len(embedding["data"][0]["embedding"]) == 384
    assert [rank["index"] for rank in ranking["rankings"]] == [1, 0]
    assert chat["choices"][0]["message"]["content"] == "The SMILES is Cn1c(=O)c2c(ncn2C)n(C)c1=O. It has 2 rings."


def test_figures_and_plot_match_the_measurements() -> None:
    done = subprocess.run([sys.executable, "-m", "scripts.readme"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

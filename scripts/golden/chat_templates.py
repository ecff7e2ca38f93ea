#!/usr/bin/env python3
"""Writes the results of the tests' chat templates in the reference.

    python scripts/golden/chat_templates.py            needs: pip install transformers==5.23.0 jinja2==3.1.6

In orchestrator/chat/prompt/testdata it reads templates/*.jinja and conversations.json (messages by name), and writes
golden.json: for each template, conversation and value of add_generation_prompt the prompt, the error that the template
raised, or the type of another exception. In tokenizers/template/testdata it reads snippets.txt and cited.txt, one
template per line, and writes snippets.json and cited.json, with the messages of all templates.

The reference is the renderer of transformers (Jinja2 in its sandbox, with trim_blocks and lstrip_blocks).
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = ROOT / "orchestrator" / "chat" / "prompt" / "testdata"
SNIPPETS = ROOT / "tokenizers" / "template" / "testdata"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


class FixedClock(datetime.datetime):
    """The clock of strftime_now, with the time of the Go test."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 3, 7, 9, 5, 0, tzinfo=tz)


def render(source: str, messages: list[dict], generate: bool) -> dict[str, str]:
    try:
        prompts, _ = chat_template_utils.render_jinja_template(
            conversations=[messages], chat_template=source, add_generation_prompt=generate, one=messages[:1], **TOKENS
        )
    except Exception as error:
        if type(error) is jinja2.exceptions.TemplateError:  # raise_exception
            return {"error": str(error)}
        return {"failure": type(error).__name__}
    return {"prompt": prompts[0]}


def main() -> None:
    chat_template_utils.datetime = FixedClock
    conversations = json.loads((PROMPTS / "conversations.json").read_text())
    entries = []
    for path in sorted((PROMPTS / "templates").glob("*.jinja")):
        source = path.read_text()
        for name, messages in conversations.items():
            for generate in (True, False):
                result = render(source, messages, generate)
                entries.append({"template": path.name, "conversation": name, "generate": generate, **result})
    write(PROMPTS / "golden.json", entries)
    turns = conversations["turns"]
    for name in ("snippets", "cited"):
        lines = (SNIPPETS / f"{name}.txt").read_text().splitlines()
        results = [{"template": line, **render(line, turns, True)} for line in lines]
        write(SNIPPETS / f"{name}.json", results, messages=turns)


def write(path: Path, entries: list[dict], **more) -> None:
    golden = {
        "made_by": "scripts/golden/chat_templates.py",
        "transformers": transformers.__version__,
        "jinja2": jinja2.__version__,
        **more,
        "entries": entries,
    }
    path.write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")
    print(f"{path.name}: {len(entries)} entries")


if __name__ == "__main__":
    main()

"""The links and commands of every Markdown page exist, and scripts/lint/documents finds those that do not."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest
from servers import ROOT

from scripts.lint.documents import links, markdown
from scripts.lint.documents.check import Documents
from scripts.lint.documents.tree import Tree


@functools.cache
def documents() -> Documents:
    return Documents(ROOT, ROOT / "bin/retort")


def find_faults(text: str) -> list[str]:
    """Returns the problems of a page in the root that has this text."""
    return [str(problem) for problem in documents().check_page(markdown.parse("page.md", text))]


def test_all_pages() -> None:
    found = documents().find_problems()
    assert not found, "\n".join(map(str, found))


WRONG = [
    ("[x](gone.md)", "link gone.md: no such file"),
    ("![x](gone.png)", "link gone.png: no such file"),
    ('<img src="gone.png">', "link gone.png: no such file"),
    ("[x](/README.md)", "link /README.md: an absolute path"),
    ("[x](http:/example.com)", "link http:/example.com: neither a file nor an http address"),
    ("[x](#gone)", "link #gone: no such heading"),
    ("[x](README.md#gone)", "link README.md#gone: no such heading"),
    ("[x](Makefile#L99999)", "link Makefile#L99999: no such line"),
    ("`scripts/gone.py`", "scripts/gone.py: no such file"),
    ("`make gone`", "make gone: no such target"),
    ("`make lint GONE=1`", "make lint: does not use GONE"),
    ('`make eval-latent ARGS="--gone 1"`', "scripts.eval.latent: unrecognized arguments: --gone 1"),
    ("`python -m scripts.gone`", "scripts.gone: no such module"),
    ("`python -m scripts.lint.manifest --gone`", "scripts.lint.manifest: unrecognized arguments: --gone"),
    ("`python -m scripts.train.latent --gone`", "scripts.train.latent: unrecognized arguments: --gone"),
    ("`scripts/triton/serve.py --gone`", "scripts/triton/serve.py: unrecognized arguments: --gone"),
    ("`.venv-gone/bin/python -m scripts.lint.manifest`", ".venv-gone: no such environment"),
    ("```sh\npython -m scripts.train.embedding.examples\n```", "the following arguments are required: --data"),
    ("`retort gone`", "retort: unexpected argument gone"),
    ("`bin/retort optimize CCO --gone`", "retort: unknown flag --gone"),
    ("`retort model import FOLDER --gone`", "retort: unknown flag --gone"),
    ("`retort optimize CCO --count many`", "retort: --count: expected a valid"),
    ("`--gone-flag`", "--gone-flag: no program here has this flag"),
    ("`--data-raw`", "--data-raw: no program here has this flag"),
    ("Set RETORT_GONE.", "RETORT_GONE: no program here has this setting"),
    ("```\nRETORT_GONE=1 make run\n```", "page.md:2: RETORT_GONE: no program here has this setting"),
    ("`curl localhost:8001/gone`", "curl: /gone is not served at port 8001"),
    ("`curl localhost:8001/v1/embeddings`", "curl: /v1/embeddings is not served at port 8001"),
    ("`curl localhost:8000/latent/v1/embeddings`", "curl: /latent/v1/embeddings is not served at port 8000"),
    ("```\ncurl localhost:8001/generate -d '{\"smi\": }'\n```", "not json"),
    ("`go test ./gone`", "./gone: no such package"),
    ("`go test ./chem -run TestGone`", "go test -run TestGone: matches nothing in ./chem"),
    ("`go test ./chem -gone`", "go test: no flag -gone in ./chem"),
    ("`go gone`", "go gone: no such command"),
    ("`git gone`", "git gone: no such command"),
    ("`pip install a=b`", "pip: a=b is not the name of a package"),
    ("`apt-get install A/b`", "apt-get: A/b is not the name of a package"),
    ("`helm install retort scripts/deploy/chart --set gone.x=1`", "helm --set: the chart has no value gone.x"),
    ("`docker build -f scripts/deploy/Dockerfile --target gone .`", "scripts/deploy/Dockerfile has no target gone"),
    ("`kubectl apply -f scripts/gone.yaml`", "scripts/gone.yaml: no such file"),
    ("```sh\ngone --help\n```", "page.md:2: gone: an unknown program"),
    ("```sh\nmake run (a while)\n```", "not bash"),
    ("```sh\nfor x in $(make gone); do :; done\n```", "make gone: no such target"),
    ("```python\nprint(\n```", "not python"),
    ('```json\n{"a": }\n```', "not json"),
    ("```yaml\na: [\n```", "not yaml"),
    ("```gone\nx\n```", "a block in gone: a language without a parser"),
    ("word " * 801, "801 words of prose; at most 800 are allowed"),
    ("See /home/somebody/retort.", "/home/somebody: a path that exists on one machine only"),
]


@pytest.mark.parametrize(("text", "fault"), WRONG)
def test_what_is_wrong_is_found(text: str, fault: str) -> None:
    found = find_faults(text)
    assert any(fault in each for each in found), found


RIGHT = [
    "# A `b`: c\n## A `b`: c\n[x](#a-b-c) [y](#a-b-c-1) [z](README.md) <a id=here></a>[h](#here)",
    "[x](https://example.com/a#b) [y](mailto:a@example.com) [z](scripts) [w](Makefile#L1)",
    "`make`, `make bench PART=jobs UPDATE=1`, `RETORT_TRITON_URL=host:8001 make run`",
    "`RETORT_CHAT_…`, `--chat-image-…`",
    "`python -m scripts.lint.manifest --write ENTRY`, `scripts.train.latent --data DATA`, `scripts.lint.manifest.load`",
    "`retort model import FOLDER --api ranking`, `retort optimize SMILES… --objective FILE -i seeds.smi`",
    "`retort healthcheck [--api NAME]`",
    "`curl http://localhost:8000/latent/generate/jobs/ID?limit=2`, `curl host:8003/v1/health/ready`",
    "`go test ./chem/... -run '^$' -bench .`",
    "`helm install retort scripts/deploy/chart -f mine.yaml --set gateway.image.tag=1`",
    "`apt-get install ./retort_*.deb`",
    "```sh\ncd scripts\ncat > /tmp/x <<END\nmake gone\nEND\n```",
    "```text\nmake gone\n```",
    "<!-- x -->\n" + "word " * 900 + "\n<!-- end of x -->\n\n| a |\n| --- |\n| " + "word " * 900 + "|\n",
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_right_passes(text: str) -> None:
    assert find_faults(text) == []


def test_names_of_pages_in_code() -> None:
    gone, number = "LOST" + ".md", 9999
    lines = [
        (1, f"# see README.md and {gone}, decision {number}, README.md#gone"),
        (2, "https://example.com/X.md, CARD.md, <name>.md, page.md"),
    ]
    found = links.check_names(documents().tree, "scripts/x.py", lines, documents().page_at)
    assert [problem.text for problem in found] == [
        f"{gone}: no such page",
        "README.md#gone: no such heading",
        f"decision {number}: no such page",
    ]


def test_every_page_is_reached_from_the_start(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("[docs](docs)")
    for name, text in {"README.md": "[x](x.md)", "x.md": "", "alone.md": "[x](x.md)"}.items():
        (tmp_path / "docs" / name).write_text(text)
    tree = Tree(tmp_path)
    found = links.check_reachable(tree, lambda path: markdown.parse(path, tree.read(path)))
    assert [problem.page for problem in found] == ["docs/alone.md"]


def test_the_pages_have_every_parameter_of_a_model() -> None:
    read = re.compile(r'\br\.(?:Text|Whole|Number|OneOf|List)\("(\w+)"|triton\.ReadFile\(r, "(\w+)"')
    sources = [path.read_text() for path in (ROOT / "orchestrator").rglob("*.go") if not path.name.endswith("_test.go")]
    names = {first or second for source in sources for first, second in read.findall(source)}
    pages = "".join((ROOT / "orchestrator/docs/operate" / name).read_text() for name in ("MODELS.md", "CHAT.md"))
    assert len(names) > 25
    assert {name for name in names if f"`{name}`" not in pages} == set()


def test_entries_that_git_does_not_track_are_left_out(tmp_path: Path) -> None:
    folder = "model_repository"
    for name in (f"{folder}/shipped/CARD.md", f"{folder}/shipped/config.pbtxt", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    before = Tree(tmp_path).files
    assert len(before) == 3
    for name in (f"{folder}/own/CARD.md", f"{folder}/own/config.pbtxt", f"{folder}/new.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert Tree(tmp_path).files == before | {f"{folder}/new.md"}

"""The command line against the whole stack: every command, every form of input and output, pipes, bad rows, resumed
runs, SDF files read by RDKit, and completion in a real bash."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from rdkit import Chem
from servers import ROOT, Gateway
from waiting import PATIENCE, wait_for

RETORT = str(ROOT / "bin/retort")
IBUPROFEN = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"


def environment(stack: Gateway) -> dict[str, str]:
    return {**os.environ, "RETORT_URL": stack.url}


def run(stack: Gateway, *arguments: str, text: str = "", code: int = 0) -> str:
    """The output of a command."""
    ended = subprocess.run(
        [RETORT, *arguments], input=text, text=True, capture_output=True, timeout=PATIENCE, env=environment(stack)
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def test_from_a_file_of_smiles_to_an_sdf(stack, tmp_path: Path) -> None:
    (tmp_path / "seeds.smi").write_text(f"{IBUPROFEN} ibuprofen\n")
    run(
        stack,
        "optimize",
        str(tmp_path / "seeds.smi"),
        "--min-similarity",
        "0.3",
        "--seed",
        "1",
        "-o",
        str(tmp_path / "better.sdf"),
    )
    found = list(Chem.SDMolSupplier(str(tmp_path / "better.sdf")))
    assert len(found) == 10 and all(found)
    scores = [float(molecule.GetProp("score")) for molecule in found]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.85
    for molecule in found:
        assert Chem.MolToSmiles(molecule) == Chem.CanonSmiles(molecule.GetProp("smiles"))
        assert (
            molecule.GetProp("_Name") == molecule.GetProp("name") == "ibuprofen"
            and molecule.GetProp("input") == IBUPROFEN
        )
        assert float(molecule.GetProp("similarity")) >= 0.3
        places = molecule.GetConformer().GetPositions()
        assert (places.max(axis=0) - places.min(axis=0))[:2].min() > 1, "it has no coordinates"
    back = objects(run(stack, "describe", str(tmp_path / "better.sdf")))
    assert [row["smiles"] for row in back] == [Chem.MolToSmiles(molecule) for molecule in found]


def commands_of(page: str) -> list[str]:
    """The examples of a page that call the program."""
    return re.findall(r"^```(?:bash)?\n(bin/retort .*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def run_commands(stack, block: str, folder: Path) -> list[str]:
    """The lines that an example prints."""
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.replace("bin/retort", f"'{RETORT}'")],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(stack),
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_the_commands_of_the_page(stack, tmp_path: Path) -> None:
    (block,) = commands_of("orchestrator/docs/use/COMMANDS.md")
    assert len(run_commands(stack, block, tmp_path)) == 1 + 5 + 50 + 1 + 2
    assert len(list(Chem.SDMolSupplier(str(tmp_path / "better.sdf")))) == 10


@pytest.mark.parametrize("block", commands_of("README.md"))
def test_the_commands_of_the_readme(stack, tmp_path: Path, block: str) -> None:
    assert run_commands(stack, block, tmp_path)


def test_goals_as_text_and_as_a_file(stack, tmp_path: Path) -> None:
    (tmp_path / "goal.json").write_text(
        json.dumps({"combine": "geometric_mean", "terms": ["QED", {"name": "LogP", "min": 1, "max": 3}]})
    )
    few = ["-n", "2", "--iterations", "3", "--particles", "12", "--min-similarity", "0.2", "--seed", "1"]
    for goal in ("plogP", "QED,SA", str(tmp_path / "goal.json"), '{"name": "TPSA", "max": 60}'):
        assert len(objects(run(stack, "optimize", IBUPROFEN, "--objective", goal, *few))) == 2
    assert (
        len(objects(run(stack, "optimize", "--from-nothing", "-n", "2", "--iterations", "3", "--particles", "20"))) == 2
    )
    refused = subprocess.run(
        [RETORT, "optimize", IBUPROFEN, "--objective", "no-such-term"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(stack),
    )
    assert refused.returncode == 3 and "line 1: objective: Input should be 'QED', 'plogP'" in refused.stderr, (
        refused.stderr
    )


def test_sample_and_fill(stack) -> None:
    drawn = objects(run(stack, "sample", "CCOc1ccccc1", "CCN", "-n", "3", "--seed", "1"))
    assert [(row["line"], row["number"]) for row in drawn] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert all(Chem.MolFromSmiles(row["smiles"]) and 0 < row["similarity"] < 1 for row in drawn)
    filled = list(
        csv.DictReader(
            io.StringIO(run(stack, "fill", "c1ccccc1.[*{5-10}]", "-n", "4", "--seed", "1", "--format", "csv"))
        )
    )
    ring = Chem.MolFromSmiles("c1ccccc1")
    assert len(filled) == 4 and all(
        Chem.MolFromSmiles(row["smiles"]).HasSubstructMatch(ring) and 0 < float(row["qed"]) < 1 for row in filled
    )


def test_a_pipe_of_embed_and_decode(stack) -> None:
    assert len(objects(run(stack, "embed", IBUPROFEN))[0]["embedding"]) > 100
    pipe = (
        f"'{RETORT}' embed --hidden CCO c1ccccc1 '{IBUPROFEN}' | '{RETORT}' decode | '{RETORT}' describe --format csv"
    )
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", pipe], capture_output=True, text=True, timeout=PATIENCE, env=environment(stack)
    )
    assert ended.returncode == 0, ended.stderr
    decoded = [row["smiles"] for row in csv.DictReader(io.StringIO(ended.stdout))]
    assert decoded == [Chem.CanonSmiles(smiles) for smiles in ("CCO", "c1ccccc1", IBUPROFEN)]


def test_texts_and_pictures(stack) -> None:
    passages = "Caffeine is a stimulant.\nAspirin is an analgesic.\nThe sky is blue.\n"
    vectors = objects(run(stack, "embed-text", text=passages))
    assert [row["line"] for row in vectors] == [1, 2, 3] and {len(row["embedding"]) for row in vectors} == {384}
    assert (
        vectors[0]["embedding"]
        != objects(run(stack, "embed-text", "--type", "query", "Caffeine is a stimulant."))[0]["embedding"]
    )
    ranked = objects(run(stack, "rank", "Which drug eases pain?", text=passages))
    assert (
        ranked[0]["input"] == "Aspirin is an analgesic."
        and ranked[0]["logit"] > ranked[1]["logit"] > ranked[2]["logit"]
    )
    assert [
        row["line"] for row in objects(run(stack, "rank", "Which drug eases pain?", "--keep-order", text=passages))
    ] == [1, 2, 3]
    assert len(objects(run(stack, "rank", "Which drug eases pain?", "--top", "1", text=passages))) == 1
    picture = str(ROOT / "scripts/tests/testdata/drawings/caffeine.png")
    assert "Cn1c(=O)c2c(ncn2C)n(C)c1=O" in run(stack, "chat", "Which molecule is this?", "--image", picture)


@pytest.mark.parametrize("form", ["csv", "jsonl", "sdf", "table"])
def test_a_bad_row_does_not_stop_the_run(stack, form: str) -> None:
    text = "smiles,id\nCCO,a\nC1CC,b\nc1ccccc1,c\n"
    ended = subprocess.run(
        [RETORT, "embed" if form in ("csv", "jsonl") else "describe", "--format", form],
        input=text,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        env=environment(stack),
    )
    assert ended.returncode == 3 and "line 3: syntax error" in ended.stderr and "1 of 3 rows" in ended.stderr, (
        ended.stderr
    )
    assert "CCO" in ended.stdout and "c1ccccc1" in ended.stdout and "C1CC" not in ended.stdout


def kill_half_way(command: list[str], output: Path) -> None:
    before = output.stat().st_size if output.exists() else 0
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_for(
        "some rows are written",
        lambda: process.poll() is not None or output.exists() and output.stat().st_size > before + 100_000,
    )
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL, "the run was done before it could be killed"


def test_a_killed_run_is_resumed(stack, tmp_path: Path) -> None:
    rows, molecules, output = 10_000, tmp_path / "many.smi", tmp_path / "vectors.jsonl"
    molecules.write_text(
        "".join(f"{'C' * (number % 7 + 1)}{'O' * (number % 5)} {number}\n" for number in range(1, rows + 1))
    )
    command = [RETORT, "describe", str(molecules), "-o", str(output)]
    for _ in range(2):
        kill_half_way([*command, "--resume"], output)
    assert 0 < len(output.read_text().splitlines()) < rows
    assert subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode == 1, (
        "it would have been written over"
    )
    run(stack, *command[1:], "--resume")
    assert [(row["line"], row["name"]) for row in objects(output.read_text())] == [
        (number, str(number)) for number in range(1, rows + 1)
    ]


def test_an_interrupted_run_is_resumed(stack, tmp_path: Path) -> None:
    molecules, output = tmp_path / "many.smi", tmp_path / "vectors.csv"
    molecules.write_text("".join(f"{'C' * (number % 30 + 1)} {number}\n" for number in range(1, 2001)))
    process = subprocess.Popen(
        [RETORT, "embed", str(molecules), "-o", str(output)], stderr=subprocess.PIPE, text=True, env=environment(stack)
    )
    wait_for(
        "some rows are written",
        lambda: process.poll() is not None or output.exists() and output.stat().st_size > 10_000,
    )
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "--resume continues" in stderr, stderr
    run(stack, "embed", str(molecules), "-o", str(output), "--resume")
    with output.open() as file:
        assert [row["line"] for row in csv.DictReader(file)] == [str(number) for number in range(1, 2001)]


def test_an_unreachable_service() -> None:
    ended = subprocess.run(
        [RETORT, "embed", "CCO", "--url", "http://127.0.0.1:9", "--attempts", "2"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 4 and "http://127.0.0.1:9 does not answer" in ended.stderr, ended.stderr


def test_help_and_manual_pages(tmp_path: Path) -> None:
    ended = subprocess.run([RETORT, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0 and len(ended.stdout.splitlines()) < 60 and "optimize" in ended.stdout
    assert (
        "--triton-url"
        in subprocess.run([RETORT, "serve", "--help"], capture_output=True, text=True, timeout=PATIENCE).stdout
    )
    assert subprocess.run([RETORT, "man", "--folder", str(tmp_path)], timeout=PATIENCE).returncode == 0
    assert ".TH" in (tmp_path / "retort-optimize.1").read_text() and (tmp_path / "retort-jobs-list.1").exists()


def test_completion_in_bash() -> None:
    """Runs the command of `complete -C` as bash does at a tab."""
    script = f"""
    PATH="{ROOT / "bin"}:$PATH"
    source <(retort completion -c bash)
    program=$(complete -p retort | sed "s/.*-C '\\([^']*\\)'.*/\\1/")
    for line in 'retort opt' 'retort jobs ' 'retort sample --rad' 'retort describe --format '; do
        echo "$line:" $(COMP_LINE="$line" COMP_POINT=${{#line}} "$program")
    done
    """
    ended = subprocess.run(["bash", "-eu", "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    answers = dict(line.split(":", 1) for line in ended.stdout.splitlines())
    assert answers["retort opt"].split() == ["optimize"]
    assert {"list", "show", "cancel"} <= set(answers["retort jobs "].split())
    assert answers["retort sample --rad"].split() == ["--radius"]
    assert {"csv", "jsonl", "sdf", "table"} <= set(answers["retort describe --format "].split())

"""scripts.eval.masked against a scripted service: figures, requests, refused options."""

from __future__ import annotations

import gzip
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from servers import serving

from scripts.eval import masked

GOOD, PLAIN = "O=C(Nc1ccccc1)C1CCNCC1", "CCCCCCCCCCCC"  # the first has QED >= 0.6 and SA <= 4


class Service(BaseHTTPRequestHandler):
    received: list[dict] = []
    answers = [GOOD, GOOD, PLAIN]

    def do_GET(self) -> None:
        self.answer({"available_models": ["nobody/model-v7"]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Service.received.append(body)
        count = body["num_molecules"] - 1  # one is not valid
        molecules = [
            {"smiles": Service.answers[i % len(Service.answers)], "score": 0.5, "scores": {"decoded_as_written": i > 0}}
            for i in range(count)
        ]
        self.answer({"status": "success", "molecules": molecules, "drawn": count + 2})

    def answer(self, body: dict) -> None:
        answer = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def service():
    Service.received = []
    with serving(Service) as url:
        yield url


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "zinc250k_train.smi.gz", "wt") as file:
        file.write(f"{GOOD}\n{PLAIN}\n" * 5)
    (tmp_path / "genmol_fragments_dev.csv").write_text(
        "name,smiles,linker_design,motif_extension,scaffold_decoration,superstructure_generation\n"
        "ONE,O=C(Nc1ccccc1)C1CCNCC1,[1*]c1ccccc1.[2*]C1CCNCC1,[5*]C1CCNCC1,[1*]C1CCNCC1,c1ccccc1\n"
    )
    return tmp_path


def test_figures(service: str, data: Path) -> None:
    masked.main(
        [
            "--data",
            str(data),
            "--url",
            service,
            "--tasks",
            "de_novo",
            "--limit",
            "4",
            "--seeds",
            "1,2",
            "--out",
            str(data / "out"),
            "--set",
            "de_novo.temperature=0.7",
        ]
    )
    assert [a["smiles"] for a in Service.received] == [None] * 6
    assert [(a.get("attempts"), a.get("unique"), a.get("quality")) for a in Service.received] == [
        *[(1, None, None)] * 2,
        *[(None, True, None)] * 2,
        *[(1, None, False)] * 2,
    ]
    assert {a["seed"] for a in Service.received} == {1_000_000, 2_000_000} and {
        a["temperature"] for a in Service.received
    } == {0.7}
    row = json.loads((data / "out/masked.json").read_text())["results"]["de_novo"]["one attempt"][0]
    assert (
        row["validity"] == 75
        and row["strict"] == 50
        and row["uniqueness"] == pytest.approx(200 / 3)
        and row["quality"] == 25
    )
    assert 0.5 < row["diversity"] <= 1 and row["distance"] is None and row["rows"] == 1.25
    text = (data / "out/masked.md").read_text()
    assert (
        "| **Retort, one attempt** | 75.0 ± 0.0 | 50.0 ± 0.0 |" in text
        and "GenMol V2, published" in text
        and "ZINC250k's own molecules" in text
    )


def test_a_whole_evaluation_writes_its_section_and_nothing_else(
    service: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "answers", [GOOD])
    page = data / "EVALUATION.md"
    before, after = "# A page\n\nWritten by hand.\n\n", "\n## Lengths\n\nby hand too\n"
    page.write_text(f"{before}<!-- eval-masked -->\nold tables\n<!-- end of eval-masked -->\n{after}")
    masked.main(["--data", str(data), "--url", service, "--out", str(data / "out"), "--write", "--page", str(page)])
    text = page.read_text()
    assert text.startswith(f"{before}<!-- eval-masked -->\n`nobody/model-v7`, ") and text.endswith(
        f"<!-- end of eval-masked -->\n{after}"
    )
    assert "old tables" not in text and "| **Retort, as served** |" in text and "### linker one step" in text


@pytest.mark.parametrize(
    "options",
    [
        ["--limit", "3"],
        ["--tasks", "de_novo"],
        ["--ways", "as served"],
        ["--seeds", "1"],
        ["--count", "10"],
        ["--set", "de_novo.noise=1"],
    ],
)
def test_a_partial_evaluation_is_not_written(options: list[str], data: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit):
        masked.arguments(["--data", str(data), "--write", *options])
    assert f"--write needs a complete evaluation, without these values of {options[0]}" in capsys.readouterr().err


def test_fragments(service: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [
        "--data",
        str(data),
        "--url",
        service,
        "--tasks",
        "motif_extension",
        "--seeds",
        "3",
        "--limit",
        "3",
        "--out",
        str(data / "out"),
    ]
    with pytest.raises(RuntimeError, match=f"{PLAIN} does not contain"):
        monkeypatch.setattr(Service, "answers", [GOOD, PLAIN])
        masked.main(arguments)
    monkeypatch.setattr(Service, "answers", [GOOD, "CC(=O)N1CCC(F)CC1"])
    masked.main(arguments)
    assert Service.received[-1]["smiles"] == "[5*]C1CCNCC1" and Service.received[-1]["min_add_len"] == 18
    row = json.loads((data / "out/masked.json").read_text())["results"]["motif_extension"]["as served"][0]
    assert row["uniqueness"] == 100 and 0 < row["distance"] < 1


def test_settings_are_checked(data: Path) -> None:
    with pytest.raises(SystemExit, match="the tasks are"):
        masked.with_changes(["de_nova.noise=1"])
    with pytest.raises(SystemExit):
        masked.arguments(["--data", str(data), "--tasks", "docking"])

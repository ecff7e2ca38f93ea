"""Our Python code inside Triton, under each Python and NumPy that it runs on: here 3.11 with 1.26, in the image 3.12.

The backend for ONNX models, the reader of drawings and an oracle give the same answers under all of them, without
Triton. A real Triton serves them with Python 3.12 and the packages of the image. The Makefile looks for Python 3.12,
which may be missing.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import graphs
import numpy as np
import pytest
import requests
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
from servers import APIS, ROOT, Gateway
from waiting import PATIENCE

HERE = Path(__file__).resolve().parent
READER = ROOT / "model_repository/molecule_reader"
LOCAL, IMAGE = ROOT / ".venv-triton/bin/python", ROOT / ".venv-python312/bin/python"
ENVIRONMENTS = {
    "local Triton": (LOCAL, []),
    "local Triton, NumPy 2": (LOCAL, [ROOT / ".venv-numpy2"]),
    "image": (IMAGE, []),
    "image, NumPy 2": (IMAGE, [ROOT / ".venv-python312/numpy2"]),
}
"""By environment: the interpreter, and folders of packages that come before its own."""

MISSING = "no Python 3.12 was found when the Makefile looked for one"

SYSTEM = {
    "ld-linux-x86-64",
    "libc",
    "libm",
    "libdl",
    "libpthread",
    "librt",
    "libutil",
    "libgcc_s",
    "libstdc++",
    "libcrypto",
    "libssl",
    "libffi",
    "libsqlite3",
    "libz",
    "libexpat",
    "libbz2",
    "liblzma",
    "libuuid",
}
"""Libraries of every Python installation: glibc, GCC's, and those of the standard library."""

MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O",
    "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "C[C@H](N)C(=O)O",
    "OB(O)c1ccc(F)cc1",
    "O=[N+]([O-])c1ccccc1",
)
QUESTIONS = (
    "Which molecule is this?",
    "How many rings does it have, and what does it weigh?",
    "Is it a carboxylic acid? Answer in JSON.",
)


def text(*values: str) -> dict:
    return {
        "type": "BYTES",
        "shape": [len(values)],
        "values": [base64.b64encode(value.encode()).decode() for value in values],
    }


def drawing(smiles: str) -> str:
    """A drawing in the form of the vLLM backend: a PNG in base64."""
    drawer = rdMolDraw2D.MolDraw2DCairo(300, 300)
    drawer.DrawMolecule(Chem.MolFromSmiles(smiles))
    drawer.FinishDrawing()
    return base64.b64encode(drawer.GetDrawingText()).decode()


def reader() -> dict:
    """All questions about all drawings, one about two drawings, a JSON schema, sampled wording, and invalid images."""

    def ask_about(question: str, *pictures: str, **more: dict) -> dict:
        marks = "\n".join(["<|image|>"] * len(pictures))
        return {
            "text_input": text(f"<|user|>{marks}\n{question}<|end|><|assistant|>"),
            "image": text(*pictures),
            **more,
        }

    pictures = [drawing(smiles) for smiles in MOLECULES]
    schema = {
        "type": "object",
        "properties": {"smiles": {"type": "string"}, "rings": {"type": "integer"}, "weight": {"type": "number"}},
    }
    requests = [ask_about(question, picture) for picture in pictures for question in QUESTIONS]
    requests += [
        ask_about("What do these two have in common?", *pictures[:2]),
        ask_about(
            "Describe it.", pictures[0], sampling_parameters=text(json.dumps({"structured_outputs": {"json": schema}}))
        ),
        ask_about(
            "How many rings?", pictures[1], sampling_parameters=text(json.dumps({"temperature": 1.5, "seed": 7}))
        ),
        ask_about("Which molecule is this?", base64.b64encode(b"no picture").decode()),
    ]
    config = {"parameters": {"max_model_len": {"string_value": "4096"}}, "output": [{"name": "text_output"}]}
    return {"code": str(READER / "1/model.py"), "folder": str(READER), "config": config, "requests": requests}


def backend(folder: Path) -> dict:
    """Every type of tensor through ONNX Runtime, two requests of equal shape and one of another."""
    graph, _ = graphs.every_type()
    graphs.place(folder, "every_type", graph, "")
    types = {
        wire: ("BYTES" if wire == "BYTES" else "bool" if wire == "BOOL" else wire.lower().replace("fp", "float"))
        for _, wire in graphs.DATATYPES.values()
    }

    def request(rows: int) -> dict:
        inputs = {}
        for wire, kind in types.items():
            values = [
                base64.b64encode(f"naïve {n}".encode()).decode() if kind == "BYTES" else n % 2 for n in range(3 * rows)
            ]
            if wire.startswith(("INT", "UINT")):
                limits = np.iinfo(kind)
                values = [int(limits.min), int(limits.max), 1] * rows
            inputs[f"in_{wire}"] = {"type": kind, "shape": [rows, 3], "values": values}
        return inputs

    config = {
        "max_batch_size": 8,
        "input": [
            {"name": f"in_{wire}", "data_type": name, "dims": ["3"]} for name, (_, wire) in graphs.DATATYPES.items()
        ],
        "output": [
            {"name": f"out_{wire}", "data_type": name, "dims": ["3"]} for name, (_, wire) in graphs.DATATYPES.items()
        ],
    }
    return {
        "code": str(ROOT / "scripts/triton/backends/onnxruntime/model.py"),
        "folder": str(folder / "every_type"),
        "config": config,
        "requests": [request(1), request(1), request(2)],
    }


def oracle() -> dict:
    folder = HERE / "testdata/oracles/toy_docking"
    texts = text(*MOLECULES, "C1CCCCCCCCCCCCC1")
    return {
        "code": str(folder / "1/model.py"),
        "folder": str(folder),
        "config": {"output": [{"name": "score"}]},
        "requests": [{"smiles": {**texts, "shape": [len(texts["values"]), 1]}}],
    }


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Runs the tasks in an environment and returns what scripts/tests/pythons/stub.py prints."""
    tasks = json.dumps([reader(), backend(tmp_path_factory.mktemp("models")), oracle()])

    @cache
    def run(environment: str) -> dict:
        python, folders = ENVIRONMENTS[environment]
        home = tmp_path_factory.mktemp("home")
        if python == LOCAL:
            subprocess.run(
                [sys.executable, ROOT / "scripts/triton/serve.py", "--prepare"], check=True, timeout=5 * PATIENCE
            )
        elif not python.exists():
            pytest.skip(MISSING)
        done = subprocess.run(
            [python, "-W", "error", HERE / "pythons/stub.py", *folders],
            input=tasks,
            env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), "files": sorted(str(path) for path in home.rglob("*"))}

    return run


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_answers_do_not_depend_on_python_or_numpy(ask, environment: str) -> None:
    got, local = ask(environment), ask("local Triton")
    assert got["numpy"].startswith("2." if "NumPy 2" in environment else "1.26."), got["numpy"]
    if environment.startswith("image"):
        assert got["python"] == "3.12"
    assert got["answers"] == local["answers"]
    answers, types, scores = got["answers"]
    replies = [
        "".join(part["text_output"]["values"][0] for part in parts if part.get("text_output"))
        for parts in answers[: len(MOLECULES) * len(QUESTIONS)]
    ]
    for number, smiles in enumerate(MOLECULES):
        assert Chem.CanonSmiles(smiles) in replies[len(QUESTIONS) * number], replies
    assert types[2][0]["out_BYTES"]["values"] == [f"naïve {n}" for n in range(6)]
    assert scores[0][0]["score"]["values"][-1] == "nan"


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_packages_bring_their_libraries(ask, environment: str) -> None:
    """The packages use no library of this machine that the image may lack, such as those of X."""
    assert set(ask(environment)["libraries"]) <= SYSTEM


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_telemetry(ask, environment: str) -> None:
    """ONNX Runtime writes a device id into a file below HOME before it sends telemetry."""
    assert ask(environment)["files"] == []


def test_python_finds_the_packages_as_in_the_image() -> None:
    if not IMAGE.exists():
        pytest.skip(MISSING)
    line = next((ROOT / ".venv-python312").glob("lib/python3.12/site-packages/retort.pth")).read_text().strip()
    assert (
        f"'{line.replace(str(ROOT / '.venv-python312/image'), '/opt/retort/python')}'"
        in (ROOT / "scripts/deploy/Dockerfile").read_text()
    )


@pytest.fixture
def image_triton(monkeypatch, tmp_path):
    """The local tritonserver with this checkout's models, run by the image's Python 3.12 and packages."""
    if not IMAGE.exists():
        pytest.skip(MISSING)
    monkeypatch.syspath_prepend(ROOT / "scripts/triton")
    import environment
    import server

    interpreter = environment.Interpreter(str(IMAGE))
    if not interpreter.library_folder:
        pytest.skip("Python 3.12 has no shared library here, which Triton's stub links")
    local = environment.prepare()

    class Image(environment.Environment):
        def __init__(self) -> None:
            super().__init__(interpreter)
            self.triton, self.server = local.triton, local.server

        def variables(self) -> dict[str, str]:
            libraries = os.pathsep.join([str(local.site / "nvidia_pytriton.libs"), interpreter.library_folder])
            variables = {
                **local.variables(),
                "LD_LIBRARY_PATH": libraries,
                "PATH": f"{IMAGE.parent}:{os.environ['PATH']}",
            }
            del variables["PYTHONPATH"]
            return variables

    for module in (environment, server):
        monkeypatch.setattr(module, "BACKENDS", tmp_path / "backends")
    environment.assemble_backends(Image())
    grpc, http, metrics = server.free_ports(3)
    options = server.Options(ROOT / "model_repository", grpc=grpc, http=http, metrics=metrics)
    running = server.Server(Image(), options)
    try:
        running.start()
        running.wait_ready(PATIENCE)
        yield running
    finally:
        running.stop()


def test_a_real_triton_serves_every_api_with_the_python_of_the_image(image_triton) -> None:
    stubs = [
        Path("/proc", pid)
        for pid in os.listdir("/proc")
        if pid.isdigit() and is_stub(Path("/proc", pid), image_triton.shared_memory)
    ]
    assert stubs and all("libpython3.12.so" in (stub / "maps").read_text() for stub in stubs)
    with Gateway(f"127.0.0.1:{image_triton.options.grpc}", ROOT / "model_repository") as gateway:
        gateway.wait_ready(*APIS)
        for api, path, body in (
            ("latent", "/embedding", {"sequences": ["CCO"]}),
            ("masked", "/generate", {"smiles": "[*{5-8}]", "num_molecules": 1}),
            (
                "embedding",
                "/v1/embeddings",
                {"model": "retort/minilm-embedqa-v2", "input": ["pain"], "input_type": "query"},
            ),
            (
                "ranking",
                "/v1/ranking",
                {"model": "retort/rankqa-minilm-v2", "query": {"text": "pain"}, "passages": [{"text": "aspirin"}]},
            ),
        ):
            answer = requests.post(gateway.urls[api] + path, json=body, timeout=PATIENCE)
            assert answer.status_code == 200, f"{api}: {answer.text}"
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{drawing(MOLECULES[0])}"}}
        model = requests.get(f"{gateway.urls['chat']}/v1/models", timeout=PATIENCE).json()["data"][0]["id"]
        question = [{"role": "user", "content": [picture, {"type": "text", "text": QUESTIONS[0]}]}]
        answer = requests.post(
            f"{gateway.urls['chat']}/v1/chat/completions", json={"model": model, "messages": question}, timeout=PATIENCE
        )
        assert MOLECULES[0] in answer.json()["choices"][0]["message"]["content"], answer.text


def is_stub(process: Path, shared_memory: str) -> bool:
    """Whether a process is a Python backend stub that uses that shared memory region."""
    try:
        return (process / "comm").read_text().startswith("triton_python_b") and shared_memory in (
            process / "cmdline"
        ).read_text()
    except OSError:
        return False

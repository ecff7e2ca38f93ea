"""Measures how well programs read whole published sets of scanned drawings:

    make eval-drawings SETS=FOLDER [UPDATE=1] [ARGS="--published --limit 10 --programs Retort"]

FOLDER has the images NAME and the mol files NAME_mol_ref of github.com/Kohulan/OCSR_Review (Rajan et al. 2020, doi
10.1186/s13321-020-00465-0). The programs are Retort (over HTTP, with a Triton of its own), OSRA (Filippov and Nicklaus
2009, doi 10.1021/ci800067r, Debian's package) and MolVec (gov.nih.ncats:molvec). With --published, the readings of OSRA
and MolVec are those that the review published, in the folder final_results of FOLDER, and no program is timed. Drawings
whose mol file RDKit does not read are left out.

A reading is exact if its canonical SMILES, with stereochemistry, equals that of the mol file. Placeholders (R groups,
X) count as `*`, whatever their label; groups such as MeO and OR1 that the mol file gives as a label are spelled out.
With labels, a reading is exact if its CXSMILES is; Retort alone gives labels. It has the same InChI if the standard
InChIs are equal. Molecules with placeholders have none; the review counts two such molecules as equal, in the column
"InChI, as the review counts".

The readings of OSRA and MolVec, with their times, are kept in --results by version, so an interrupted run is continued,
on the same machine. --write writes
the tables into the section of the model's EVALUATION.md, and SHEET, a picture of readings of CLEF that are wrong
without a warning. It needs all programs and all drawings of CLEF and JPO.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from PIL import Image
from rdkit import Chem, RDLogger
from rdkit.Chem.Draw import MolToImage, rdMolDraw2D

from scripts import sections
from scripts.eval import mol_files
from scripts.eval.chat import API, MODEL
from scripts.eval.chat_questions import smiles
from scripts.eval.drawings import ASK, UNREADABLE
from scripts.eval.pmo.__main__ import free_port, wait_ready
from scripts.train import served

ROOT = Path(__file__).resolve().parents[2]
SECTION = "eval-scanned"
SHEET = Path(__file__).with_name("wrong_readings.png")
MOLVEC = Path(__file__).with_name("molvec")
JARS = ROOT / ".cache/molvec"
SETS = ("CLEF", "JPO")
PUBLISHED = {"OSRA": ("osra", "2.1"), "MolVec": ("molvec_15092020", "0.9.7")}
"""Folder of the review's readings, and version, by program."""
TUNED_ON = 200
"""Number of drawings of each set, the first in a fixed random order, that the reader was tuned on."""
KEPT = ("OSRA", "MolVec")
"""Programs whose readings are kept: a version always reads the same."""
EXAMPLES = 12
"""The most drawings in SHEET."""
CELL = (270, 180)
"""Size of a picture in SHEET (pixels)."""


@dataclass(frozen=True)
class Drawing:
    set: str
    path: Path
    smiles: str
    """Canonical SMILES of the mol file, with `*` for each placeholder."""
    inchi: str
    """Standard InChI, or "" if the molecule has none."""
    is_tuned_on: bool
    is_reserved: bool
    """Belongs to the third of its set, chosen by the hash of its name, in which nobody looked at single drawings."""
    labelled: str = ""
    """Canonical CXSMILES with the labels of the placeholders; the SMILES without placeholders."""


@dataclass(frozen=True)
class Reading:
    seconds: float
    """CPU time of all threads and processes."""
    smiles: str = ""
    """As in Drawing, or "" without a reading."""
    inchi: str = ""
    has_warning: bool = False
    labelled: str = ""
    """As in Drawing, or "" of a program that gives no labels."""


@dataclass(frozen=True)
class Program:
    name: str
    version: str
    read: Callable[[Path], Reading]


def identity(molecule: Chem.Mol) -> tuple[str, str]:
    """Returns the canonical SMILES, with `*` for each placeholder, and the standard InChI."""
    plain = Chem.Mol(molecule)
    for atom in plain.GetAtoms():
        if atom.GetAtomicNum() == 0:
            atom.SetIsotope(0)
            atom.SetAtomMapNum(0)
    text = Chem.MolToSmiles(plain)
    again = Chem.MolFromSmiles(text)  # without stereocentres that only the labels made
    return (Chem.MolToSmiles(again) if again else text), Chem.MolToInchi(molecule)


def read_set(folder: Path, name: str) -> tuple[list[Drawing], int]:
    """Returns the drawings of a set, in a fixed random order, and how many others have a mol file that RDKit does not
    read."""
    truths = {path.stem: path for path in (folder / f"{name}_mol_ref").iterdir()}
    images = sorted((folder / name).glob("*.png"))
    Random(0).shuffle(images)
    drawings = []
    for number, path in enumerate(images):
        molecule = Chem.MolFromMolFile(str(truths[path.stem]))
        if molecule is None:
            continue
        labelled = mol_files.read_mol_file(truths[path.stem]) or ""
        expanded = Chem.MolFromSmiles(labelled) if labelled else None
        text, inchi = identity(expanded or molecule)
        is_tuned_on = number < TUNED_ON
        third = int(hashlib.sha256(path.stem.encode()).hexdigest(), 16) % 3
        drawings.append(Drawing(name, path, text, inchi, is_tuned_on, third == 0 and not is_tuned_on, labelled or text))
    return drawings, len(images) - len(drawings)


def reading(blocks: Iterable[str], seconds: float) -> Reading:
    """Returns the reading of the molecules of mol blocks, all of which belong to one drawing."""
    molecules = [Chem.MolFromMolBlock(block) for block in blocks]
    if not molecules or not all(m is not None and m.GetNumAtoms() for m in molecules):
        return Reading(seconds)
    whole = molecules[0]
    for one in molecules[1:]:
        whole = Chem.CombineMols(whole, one)
    return Reading(seconds, *identity(whole))


def osra() -> Program:
    def read(path: Path) -> Reading:
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(["osra", "-f", "sdf", path], stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            records = out.read().decode(errors="replace").split("$$$$\n")
        return reading((r for r in records if r.strip()), usage.ru_utime + usage.ru_stime)

    version = subprocess.run(["osra", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    return Program("OSRA", version, read)


@contextmanager
def molvec() -> Iterator[Program]:
    jars = sorted(JARS.glob("*.jar"))
    version = next(jar for jar in jars if jar.name.startswith("molvec-")).stem.removeprefix("molvec-")
    command = ["java", "-Djava.awt.headless=true", "-cp", ":".join(map(str, jars)), str(MOLVEC / "ReadDrawings.java")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as java:
        assert java.stdin and java.stdout

        def read(path: Path) -> Reading:
            assert java.stdin and java.stdout
            print(path, file=java.stdin, flush=True)
            seconds = float(java.stdout.readline())
            block = ""
            while (line := java.stdout.readline()) != "$$$$\n":
                if not line:
                    raise RuntimeError(f"MolVec ended while it read {path}")
                block += line
            return reading([block] if block.strip() else [], seconds)

        yield Program("MolVec", version, read)


def published(name: str, folder: Path) -> Program:
    """Returns the program that gives the readings of another, which the review published."""
    files = {path.stem: path for path in (folder / "final_results" / PUBLISHED[name][0]).iterdir()}

    def read(path: Path) -> Reading:
        text = files[path.stem].read_text(errors="replace") if path.stem in files else ""
        return reading((record for record in text.split("$$$$\n") if record.strip()), 0)

    return Program(name, PUBLISHED[name][1], read)


def family(pid: int) -> list[int]:
    """Returns the ids of a process and its descendants."""
    pids = [pid]
    for one in pids:
        for task in Path(f"/proc/{one}/task").iterdir():
            pids += map(int, (task / "children").read_text().split())
    return pids


def cpu_seconds(pids: list[int]) -> float:
    """Returns the CPU time of processes, by the clock of clock_getcpuclockid(3)."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


@contextmanager
def retort(binary: Path) -> Iterator[Program]:
    """Runs a gateway in front of the Triton at RETORT_TRITON_URL."""
    port = free_port()
    others = dict.fromkeys((f"RETORT_{api}PORT" for api in ("", "LATENT_", "MASKED_", "EMBEDDING_", "RANKING_")), "-1")
    settings = others | {
        "RETORT_CHAT_PORT": str(port),
        "RETORT_HOST": "127.0.0.1",
        "RETORT_MODEL_REPOSITORY": os.environ["RETORT_TEST_TRITON_REPOSITORY"],
        "RETORT_LOG_LEVEL": "error",
    }
    process = subprocess.Popen([binary, "serve"], env={**os.environ, **settings}, stdout=sys.stderr)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_ready(url + "/v1/health/ready")
        servers = [process.pid, *family(int(Path(os.environ["RETORT_TEST_TRITON_PIDFILE"]).read_text()))]
        api = API(url, concurrency=1)

        def read(path: Path) -> Reading:
            picture = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
            start = cpu_seconds(servers)
            answer = api.talk((ASK, [picture]))
            seconds = cpu_seconds(servers) - start
            found = "" if any(text in answer for text in UNREADABLE) else smiles(answer)
            if not found:
                return Reading(seconds)
            return Reading(seconds, *identity(Chem.MolFromSmiles(found)), "not sure" in answer, found)

        yield Program("Retort", MODEL, read)
    finally:
        process.terminate()
        process.wait()


def read_all(program: Program, drawings: list[Drawing], kept: Path | None) -> dict[Path, Reading]:
    """Returns the reading of each drawing. kept: a file of readings to continue, of any program and version."""
    readings = {}
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    known = {(r["program"], r["version"], r["set"], r["name"]): Reading(**r["reading"]) for r in map(json.loads, lines)}
    for number, drawing in enumerate(drawings, 1):
        key = (program.name, program.version, drawing.set, drawing.path.name)
        found = known.get(key)
        if found is None:
            found = program.read(drawing.path)
            if kept:
                line = dict(zip(("program", "version", "set", "name"), key)) | {"reading": asdict(found)}
                with kept.open("a") as out:
                    print(json.dumps(line), file=out)
        readings[drawing.path] = found
        if number % 100 == 0:
            print(f"{program.name}: {number} of {len(drawings)}", file=sys.stderr, flush=True)
    return readings


def groups(drawings: list[Drawing]) -> dict[str, list[Drawing]]:
    """Returns the rows of the table: each set whole, and its parts if it has them."""
    out = {}
    for name in dict.fromkeys(d.set for d in drawings):
        whole = [d for d in drawings if d.set == name]
        generic = [d for d in whole if "*" in d.smiles]
        out[f"{name}, whole set"] = whole
        if generic:
            out[f"{name}, without placeholders"] = [d for d in whole if "*" not in d.smiles]
            out[f"{name}, with placeholders"] = generic
        out[f"{name}, reserved"] = [d for d in whole if d.is_reserved]
    return {name: members for name, members in out.items() if members}


def is_wrong_without_warning(drawing: Drawing, found: Reading) -> bool:
    return bool(found.smiles) and found.smiles != drawing.smiles and not found.has_warning


def cells(pairs: list[tuple[Drawing, Reading]]) -> str:
    """Returns the shares of a row."""
    labelled = [r.labelled == d.labelled for d, r in pairs] if any(r.labelled for _, r in pairs) else []
    shares = (
        [r.smiles == d.smiles for d, r in pairs],
        labelled,
        [bool(r.inchi) and r.inchi == d.inchi for d, r in pairs],
        [bool(r.smiles) and r.inchi == d.inchi for d, r in pairs],
        [not r.smiles for _, r in pairs],
        [r.has_warning and r.smiles != d.smiles for d, r in pairs],
        [is_wrong_without_warning(d, r) for d, r in pairs],
    )
    return " | ".join(f"{statistics.mean(share):.1%}" if share else "–" for share in shares)


def table(drawings: list[Drawing], readings: dict[str, dict[Path, Reading]]) -> str:
    lines = [
        "| drawings | number | program | exact SMILES | exact with labels | same InChI "
        "| InChI, as the review counts | no reading | wrong with a warning | wrong without a warning |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, members in groups(drawings).items():
        for program, found in readings.items():
            row = cells([(d, found[d.path]) for d in members])
            lines.append(f"| {name} | {len(members)} | {program} | {row} |")
    return "\n".join(lines)


def times(programs: dict[str, Program], readings: dict[str, dict[Path, Reading]]) -> str:
    """Returns the table of CPU times."""
    lines = [
        "CPU time of all threads. OSRA starts a process for each drawing, Retort's is of the gateway and of Triton:",
        "",
        "| program | version | CPU time of a drawing, median |",
        "| --- | --- | ---: |",
    ]
    for name, found in readings.items():
        median = statistics.median(one.seconds for one in found.values())
        lines.append(f"| {name} | {programs[name].version} | {median:.3f} s |")
    return "\n".join(lines)


def sheet(pairs: list[tuple[Drawing, Reading]]) -> Image.Image:
    """Returns a picture with a drawing and what was read, side by side, three such pairs a row."""
    width, height = CELL
    across = 3
    style = rdMolDraw2D.MolDrawOptions()
    style.useBWAtomPalette()
    style.bondLineWidth = 1
    rows = -(-len(pairs) // across)
    whole = Image.new("L", (2 * width * across, height * rows), 255)
    for number, (drawing, found) in enumerate(pairs):
        left, top = 2 * width * (number % across), height * (number // across)
        scan = Image.open(drawing.path).convert("L")
        scan.thumbnail((width - 20, height - 20))
        whole.paste(scan, (left + (width - scan.width) // 2, top + (height - scan.height) // 2))
        molecule = Chem.MolFromSmiles(found.smiles)
        read = MolToImage(molecule, (width - 20, height - 20), options=style).convert("L")
        whole.paste(read, (left + width + 10, top + 10))
        for at in (left, left + width):
            whole.paste(200 if at > left else 0, (at, top, at + 1, top + height))
        whole.paste(0, (left, top, left + 2 * width, top + 1))
    return whole.quantize(8)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="make eval-drawings", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, required=True, help="folder of the sets")
    parser.add_argument("--published", action="store_true", help="take the review's readings of OSRA and MolVec")
    parser.add_argument("--limit", type=int, help="drawings of each set; default: all")
    parser.add_argument("--programs", default="Retort,OSRA,MolVec")
    parser.add_argument("--binary", type=Path, default=ROOT / "bin/retort")
    parser.add_argument("--results", type=Path, default=ROOT / "runs/eval-drawings/readings.jsonl")
    parser.add_argument(
        "--write", action="store_true", help="write the tables into their section of the page, and SHEET"
    )
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.write:
        if given.limit or given.programs != parser.get_default("programs"):
            parser.error("--write needs all drawings and all programs")
        sections.check(given.page, SECTION)
    if unknown := set(given.programs.split(",")) - {"Retort", *KEPT}:
        parser.error(f"--programs: no program {', '.join(sorted(unknown))}")
    for name in SETS:
        for folder in (given.sets / name, given.sets / f"{name}_mol_ref"):
            if not folder.is_dir():
                parser.error(f"--sets: no folder {folder}")
    if "RETORT_TEST_TRITON_PIDFILE" not in os.environ:
        parser.error("run it through scripts/triton/serve.py --scratch --, as make eval-drawings does")
    RDLogger.DisableLog("*")
    drawings: list[Drawing] = []
    for name in SETS:
        found, unread = read_set(given.sets, name)
        tuned_on = sum(drawing.is_tuned_on for drawing in found)
        print(f"{name}: {len(found)} drawings, {tuned_on} of them tuned on; {unread} mol files are not read")
        drawings += found[: given.limit]
    given.results.parent.mkdir(parents=True, exist_ok=True)
    programs: dict[str, Program] = {}
    readings: dict[str, dict[Path, Reading]] = {}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the gateway ends, too
    with ExitStack() as stack:
        for name in given.programs.split(","):
            if name == "Retort":
                program = stack.enter_context(retort(given.binary))
            elif given.published:
                program = published(name, given.sets)
            else:
                program = osra() if name == "OSRA" else stack.enter_context(molvec())
            programs[name] = program
            readings[name] = read_all(
                program, drawings, given.results if name in KEPT and not given.published else None
            )
    text = table(drawings, readings)
    if given.published:
        text += "\n\nOSRA {OSRA[1]} and MolVec {MolVec[1]}: the readings that the review published.".format(**PUBLISHED)
    else:
        text += f"\n\n{times(programs, readings)}"
    print(text)
    if given.write:
        wrong = [(d, readings["Retort"][d.path]) for d in drawings if d.set == "CLEF" and not d.is_reserved]
        sheet([pair for pair in wrong if is_wrong_without_warning(*pair)][:EXAMPLES]).save(SHEET, optimize=True)
        options = ' ARGS="--published"' if given.published else ""
        head = f"`make eval-drawings SETS=FOLDER UPDATE=1{options}`, {datetime.now(UTC):%Y-%m-%d}:"
        sections.write(given.page, SECTION, f"{head}\n\n{text}")


if __name__ == "__main__":
    main()

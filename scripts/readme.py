"""Writes the figures in README.md and its plots of speed. All are read from generated sections of other pages, so no
figure is copied by hand.

    python -m scripts.readme            check: exit status 1 if README.md or a plot is out of date
    python -m scripts.readme --write    write them
"""

from __future__ import annotations

import argparse
import io
import re
import statistics
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts import sections

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PLOT = ROOT / "scripts/bench/speed.svg"
CLIENTS_PLOT = ROOT / "scripts/bench/clients.svg"
SPEED = "scripts/bench/SPEED.md"
LATENT = "model_repository/latent_encoder/EVALUATION.md"
MASKED = "model_repository/masked/EVALUATION.md"
READER = "model_repository/molecule_reader/EVALUATION.md"
RETRIEVAL = "model_repository/RETRIEVAL.md"


def find(page: str, section: str, pattern: str) -> str:
    """Returns the first group of a pattern in a generated section of a page. LookupError: no section, or no match."""
    match = re.search(pattern, sections.read(ROOT / page, section), re.MULTILINE)
    if not match:
        raise LookupError(f"{page}, section {section}: nothing matches {pattern}")
    return match[1]


PROCESSOR = r"(\d+ cores of .+?) \(AVX"
"""The processor in the heading of a section of SPEED.md."""


def embedding_rate(load: str) -> str:
    """Returns the texts a second of a load, which is how its row in SPEED.md begins."""
    return find(SPEED, "embedding", rf"^\| {load}[^|]*\| ([\d.]+) \(")


def costs() -> str:
    """Returns the table of what a start costs (time, memory, disk) and how fast each API is."""
    start = {
        name: find(SPEED, "start", rf"^\| {pattern}[^|]*\| (\d+) \w+ \|")
        for name, pattern in {
            "first": "first `make run`",
            "second": "second",
            "gateway": "memory after a call of each API: gateway",
            "triton": "the same: Triton",
            "packages": "disk: Python packages",
            "checkout": "disk: files of the checkout",
            "history": "disk: history",
        }.items()
    }
    processors = {
        part: find(SPEED, part, PROCESSOR) for part in ("start", "embedding", "ranking", "latent", "masked", "chat")
    }
    usual = statistics.mode(processors.values())
    others = {part: "" if name == usual else f" on {name}" for part, name in processors.items()}
    texts = embedding_rate("requests of 32 short texts")
    pairs = find(SPEED, "ranking", r"^\| a query and 32 passages[^|]*\| ([\d.]+) \(")
    molecules = find(SPEED, "masked", r"^\| one request for 100 \|.*\| (\d+) \|$")
    evaluations = find(SPEED, "latent", r"1 at once: (\d+) evaluations/s")
    token = find(SPEED, "chat", r"^\| whole answer with the SMILES \| ([\d.]+) ms")
    disk = int(start["checkout"]) + int(start["history"]) + int(start["packages"])
    rows = [
        ("hardware, if a figure names no other", f"{usual}; no GPU", f"[SPEED.md]({SPEED})"),
        (
            "first `make run`, downloads included",
            f"{start['first']} s{others['start']}",
            "`make bench PART=start`",
        ),
        ("later `make run`", f"{start['second']} s{others['start']}", "the same"),
        (
            "memory after a call of each API",
            f"{start['gateway']} MB for the gateway, {start['triton']} MB for Triton",
            "the same",
        ),
        ("disk: clone, and the local Triton's packages", f"{disk} MB", "the same"),
        (
            "embedding, requests of 32 short texts",
            f"{texts} texts/s{others['embedding']}",
            "`make bench PART=embedding`",
        ),
        (
            "ranking, requests of 32 passages",
            f"{pairs} passages/s{others['ranking']}",
            "`make bench PART=ranking`",
        ),
        (
            "masked, one request for 100 molecules",
            f"{molecules} molecules/s{others['masked']}",
            "`make bench PART=masked`",
        ),
        ("latent, one search", f"{evaluations} evaluations/s{others['latent']}", "`make bench PART=latent`"),
        ("chat: a drawing read and answered", f"{token} ms{others['chat']}", "`make bench PART=chat`"),
    ]
    return table(("what", "cost", "measured by"), rows)


def quality() -> str:
    """Returns the table of the models' quality: a figure beside a published or rival one, and the command."""
    success = find(LATENT, "qed", r"^\| 1,500 \| 100 \| ([\d.]+)%")
    exact = 100 * float(
        find(LATENT, "round_trip", r"^\| (?:broad|chembl_subsets)_valid.smi.gz \| 1000 \| \S+ \| ([\d.]+) \|")
    )
    sampled, plain_sampled = (
        find(MASKED, "eval-masked", rf"^\| \*\*Retort, {attempt}\*\* \|(?:[^|]*\|){{3}} ([\d.]+) ±")
        for attempt in ("one attempt", "one attempt of any quality")
    )
    published = find(MASKED, "eval-masked", r"^\| GenMol V2, published \|(?:[^|]*\|){3} ([\d.]+) \|")
    clef, jpo = (
        {
            program: find(READER, "eval-scanned", rf"^\| {name}, whole set \| \d+ \| {program} \| ([\d.]+)%")
            for program in ("Retort", "OSRA", "MolVec")
        }
        for name in ("CLEF", "JPO")
    )
    labelled = find(READER, "eval-scanned", r"^\| CLEF, whole set \| \d+ \| Retort \| [\d.]+% \| ([\d.]+)%")
    reserved = [
        find(READER, "eval-scanned", rf"^\| {name}, reserved \| \d+ \| Retort \| ([\d.]+)%") for name in ("CLEF", "JPO")
    ]
    averages = re.findall(
        r"^\| mean \| *\| *\| ([\d.]+) \| ([\d.]+) \|.*\| ([\d.]+) \| ([\d.]+) \| [+-][\d.]+ \|$",
        (ROOT / RETRIEVAL).read_text(),
        re.MULTILINE,
    )
    if len(averages) != 2:
        raise LookupError(f"{RETRIEVAL}: {len(averages)} rows | mean | with nine figures, not 2")
    plain, embedded, before, after = averages[1]  # the second table: collections unlike the training data
    rows = [
        (
            "latent",
            f"{exact:.1f} % of 1,000 unseen bioactive molecules and natural products decode back exactly.",
            f"`make eval-latent` ([all]({LATENT}))",
        ),
        (
            "latent",
            f"{success} % of 100 searches reach a QED of 0.9 at a similarity of 0.4 within 1,500 evaluations "
            "([MolMIM](https://arxiv.org/abs/2208.09016), published: 94.6 % of 800 searches within 50,000).",
            "`make eval-latent`",
        ),
        (
            "masked",
            f"{sampled} % of de novo molecules, each sampled once, are distinct and have QED of at least 0.6 and SA of "
            f"at most 4, as requested from the model ({plain_sampled} % if that is not requested; GenMol V2, "
            f"published: {published} %).",
            f"`make eval-masked` ([all]({MASKED}))",
        ),
        (
            "embedding",
            f"nDCG@10 of {embedded} on six collections unlike its training data (all-MiniLM-L6-v2: {plain}).",
            f"[commands]({RETRIEVAL})",
        ),
        (
            "ranking",
            f"nDCG@10 of {after} after ranking the best passages of the embedding model (before: {before}); the same "
            "collections, at most 30 queries of four of them.",
            f"[commands]({RETRIEVAL})",
        ),
        (
            "chat",
            f"{clef['Retort']} % of the scanned patent drawings of CLEF (OSRA: {clef['OSRA']} %, MolVec: "
            f"{clef['MolVec']} %) and {jpo['Retort']} % of JPO (OSRA: {jpo['OSRA']} %, MolVec: {jpo['MolVec']} %) are "
            f"read exactly, whatever the label of an R group (with its label {labelled} % of CLEF). Some were used for "
            f"tuning; of a reserved part, {reserved[0]} and {reserved[1]} %.",
            f"[commands]({READER})",
        ),
    ]
    return table(("model", "figure and yardstick", "command"), rows)


def table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Returns a Markdown table."""
    lines = [heading, ("---",) * len(heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ratios() -> list[tuple[str, float]]:
    """Returns what is compared, with the speed of Retort divided by the other's."""
    peer = r"[^\n]*?\| peer \| [^|]*\| ([\d.]+) \("
    return [
        ("embedding, single texts\nagainst infinity-emb", float(find(SPEED, "embedding", "^\\| single short" + peer))),
        (
            "embedding, 32 texts a request\nagainst infinity-emb",
            float(find(SPEED, "embedding", "^\\| requests of 32 short" + peer)),
        ),
        (
            "ranking, 32 passages\nagainst infinity-emb",
            float(find(SPEED, "ranking", r"^\| a query and 32 passages" + peer)),
        ),
        (
            "latent, decoding 100 states\nagainst PyTorch in fp32 with cache",
            float(find(SPEED, "latent", r"PyTorch fp32 with cache \d+ ms: ([\d.]+) times")),
        ),
        (
            "masked, 100 molecules\nagainst PyTorch in fp32",
            float(find(SPEED, "masked", r"against PyTorch in fp32: ([\d.]+) times")),
        ),
        (
            "tokenizer of BERT (WordPiece)\nagainst Hugging Face tokenizers",
            float(find(SPEED, "tokenizers", r"^wordpiece: .*\n.*\n.*Go is ([\d.]+) times")),
        ),
        (
            "QED, SA, logP and fingerprints\nagainst Python RDKit",
            float(find(SPEED, "chem", r"^Go / Python +x +[\d.]+ +([\d.]+)")),
        ),
        (
            "CMA-ES in 512 dimensions\nagainst cma",
            float(find(SPEED, "cmaes", r"^\| 512 \| 1 \|(?:[^|]*\|){2} ([\d.]+) ")),
        ),
    ]


def clients() -> dict[str, list[tuple[int, float, float]]]:
    """Returns the number of clients, texts a second and milliseconds of each side that embeds single texts."""
    lines = sections.read(ROOT / SPEED, "embedding").splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith("| clients |")), None)
    if head is None:
        raise LookupError(f"{SPEED}, section embedding: no table of clients")
    names = [cell.removesuffix(", texts/s") for cell in lines[head].split(" | ")[1:-1:2]]
    sides: dict[str, list[tuple[int, float, float]]] = {name: [] for name in names}
    for line in lines[head + 2 :]:
        if not line.startswith("| "):
            break
        count, *cells, _ = line.strip("| ").split(" | ")
        figures = [float(cell.split()[0]) for cell in cells]
        for name, rate, latency in zip(names, figures[::2], figures[1::2]):
            sides[name].append((int(count), rate, latency))
    return sides


@contextmanager
def drawing(width: float, height: float):
    """Yields the axes of a figure and the buffer that has it as SVG afterwards, with texts as text, not as paths."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "retort", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(width, height), layout="constrained")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    out = io.StringIO()
    yield axes, out
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    text = re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.MULTILINE)
    out.seek(0)
    out.truncate()
    out.write(text)


def plot() -> str:
    """Returns the bar chart of the ratios as SVG."""
    names, values = zip(*reversed(ratios()))
    with drawing(8, 4.2) as (axes, out):
        axes.barh(names, [value - 1 for value in values], left=1, height=0.6, color="#2a6f97")
        for row, value in enumerate(values):
            axes.annotate(f"{value:.1f}", (max(value, 1), row), xytext=(4, 0), textcoords="offset points", va="center")
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log")
        ticks = [1, 2, 5, 10, 20]
        axes.set_xticks(ticks, [f"{tick}×" for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(0.9, 24)
        axes.set_title("How many times as fast on the same two cores (1: equally fast)", fontsize=10)
        axes.tick_params(axis="y", labelsize=8, length=0)
        axes.spines["left"].set_visible(False)
    return out.getvalue()


SIDES = {
    "gateway": ("Retort", "#2a6f97", "o-"),
    "peer": ("infinity-emb", "#c8553d", "s-"),
    "ONNX Runtime alone": ("ONNX Runtime alone, the texts of all clients in one call", "#777777", "^--"),
}
"""The label, colour and style of each side of the table of clients."""


def clients_plot() -> str:
    """Returns throughput against latency as SVG, with the number of clients beside each point."""
    with drawing(8, 3.8) as (axes, out):
        for name, points in clients().items():
            label, color, style = SIDES[name]
            counts, rates, latencies = zip(*points)
            axes.plot(rates, latencies, style, color=color, label=label, markersize=4)
            for count, rate, latency in points:
                axes.annotate(
                    str(count), (rate, latency), xytext=(5, -9), textcoords="offset points", fontsize=7, color=color
                )
        axes.set_yscale("log")
        ticks = [1, 2, 5, 10, 20, 50, 100, 200]
        axes.set_yticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlim(left=0)
        axes.set_xlabel("texts/s", fontsize=9)
        axes.set_ylabel("median latency, ms", fontsize=9)
        axes.set_title("Embedding of single short texts for 1 to 64 clients on the same two cores", fontsize=10)
        axes.tick_params(labelsize=8)
        axes.legend(fontsize=8, frameon=False)
    return out.getvalue()


def same(path: Path, text: str) -> bool:
    """Reports whether a file exists and has this text."""
    return path.exists() and path.read_text() == text


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.readme", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write instead of checking")
    options = parser.parse_args()
    images = {PLOT: plot(), CLIENTS_PLOT: clients_plot()}
    found = {"costs": costs(), "quality": quality()}
    if options.write:
        for name, text in found.items():
            sections.write(README, name, text)
        for path, image in images.items():
            path.write_text(image)
        return 0
    stale = [f"README.md, section {name}" for name, text in found.items() if sections.read(README, name) != text + "\n"]
    stale += [str(path.relative_to(ROOT)) for path, image in images.items() if not same(path, image)]
    for name in stale:
        print(f"{name} is out of date: python -m scripts.readme --write", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

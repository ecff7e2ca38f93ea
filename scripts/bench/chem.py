#!/usr/bin/env python3
"""Measures package chem against Python RDKit of the same version, side by side in the same run.

    python3 scripts/bench/chem.py                      # 2,000 generated molecules
    python3 scripts/bench/chem.py --smiles some.smi    # one SMILES per line, or .gz of that

Needs Debian's python3-rdkit and rdkit-data, and Go. The sides take turns on the same molecules. Rates are per second of
processor time, on which other load has less influence. Two goroutines against one, and the start, are measured in wall
time. Exits with 1 if a target is missed; a target in wall time is only reported if the machine is not idle.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from rdkit import Chem, DataStructs, RDConfig, RDLogger
from rdkit.Chem import QED, Crippen, rdMolDescriptors

sys.path.append(os.path.join(RDConfig.RDContribDir, "SA_Score"))
import sascorer  # noqa: E402

ROUTES = 200  # molecules whose routes are searched
CORES = (
    "c1ccc({})cc1{}",
    "c1cnc({})nc1{}",
    "C1CN({})CCN1{}",
    "c1cc2c(cc1{})CCN2{}",
    "C1CCC({})C1{}",
    "c1sc({})nc1{}",
    "C1CC({})CN1{}",
    "c1ccc2c(c1{})nc({})[nH]2",
    "[C@@H]1({})CCCN1{}",
    "c1oc({})cc1{}",
)
LEFT = (
    "C(=O)NCc2ccncc2",
    "S(=O)(=O)N2CCOCC2",
    "C(=O)N(C)C2CC2",
    "CNC(=O)c2ccc(F)cc2",
    "C(=O)OCC(C)C",
    "Cc2ccc(Cl)c(Cl)c2",
    "C(=O)c2cnn(C)c2",
    "CC[NH+](C)C",
    "C(C)c2ccccc2OC",
    "C(=O)/C=C/c2ccco2",
    "CC(=O)Nc2ccc(C#N)cc2",
    "C(=O)CSc2nnc(C)o2",
    "C[C@H](O)c2ccc(O)cc2",
    "Cc2nc(C3CC3)no2",
)
RIGHT = (
    "",
    "C",
    "C(F)(F)F",
    "C(=O)NC3CCCC3",
    "c3ccc([N+](=O)[O-])cc3",
    "CC(C)C",
    "C(=O)c3cccs3",
    "CC(N)=O",
    "S(C)(=O)=O",
    "C[C@@H](C)CC",
    "c3ncccc3Br",
    "CCOC",
    "CCN3CCCC3",
    "C(=O)[O-]",
)


def generate():
    """Yields 2,000 drug-like molecules of about 24 heavy atoms."""
    for core in CORES:
        for left in LEFT:
            for right in RIGHT:
                smiles = core.format(left, right)
                if Chem.MolFromSmiles(smiles):
                    yield smiles


def read(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        return [line.split()[0] for line in f if line.strip()]


def python_whole(smiles, logp_once):
    """Computes all properties as a user would. logp_once takes the logP that QED has computed."""
    sums = {"qed": 0.0, "logp": 0.0, "sa": 0.0, "letters": 0}
    wall, cpu = time.perf_counter(), time.process_time()
    for s in smiles:
        mol = Chem.MolFromSmiles(s)
        sums["letters"] += len(Chem.MolToSmiles(mol))
        properties = QED.properties(mol)
        sums["qed"] += QED.qed(mol, qedProperties=properties)
        sums["logp"] += properties.ALOGP if logp_once else Crippen.MolLogP(mol)
        rdMolDescriptors.GetMorganFingerprintAsBitVect(mol, 2, 2048)
        sums["sa"] += sascorer.calculateScore(mol)
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, **sums}


def python_tanimoto(smiles):
    mols = [Chem.MolFromSmiles(s) for s in smiles[:1000]]
    prints = [rdMolDescriptors.GetMorganFingerprintAsBitVect(m, 2, 2048) for m in mols]
    cpu = time.process_time()
    for p in prints:
        DataStructs.BulkTanimotoSimilarity(p, prints)
    return {"cpu": (time.process_time() - cpu) * 1e6 / len(prints) ** 2}


def go(binary, smiles, *args):
    process = subprocess.run([binary, *args], input="\n".join(smiles), capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def check_same_results(ours, theirs):
    for key in ("qed", "logp", "sa", "letters"):
        if abs(ours[key] - theirs[key]) > 1e-6 * abs(theirs[key]):
            raise SystemExit(f"the sides disagree on {key}: {ours[key]} and {theirs[key]}")


def spread(values):
    return f"{min(values):8.3g} {statistics.median(values):8.3g} {max(values):8.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smiles", help="file of molecules; default: 2,000 generated ones")
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    smiles = (read(args.smiles) if args.smiles else list(generate()))[: args.limit]
    measured: dict[str, list[float]] = {}

    def note(name, value):
        measured.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        binary = os.path.join(folder, "chem")
        subprocess.run(["go", "build", "-o", binary, "./scripts/bench/chem"], check=True)
        python_whole(smiles[:50], True)
        for _ in range(args.rounds):
            ours = go(binary, smiles, "whole")
            plain, once = python_whole(smiles, False), python_whole(smiles, True)
            check_same_results(ours, plain)
            two = go(binary, smiles, "whole", "-workers", "2")
            note("go", len(smiles) / ours["cpu"])
            note("python", len(smiles) / plain["cpu"])
            note("python, logP once", len(smiles) / once["cpu"])
            note("ratio", plain["cpu"] / ours["cpu"])
            note("ratio, logP once", once["cpu"] / ours["cpu"])
            note("two goroutines", ours["wall"] / two["wall"])
            note("cost of two", two["cpu"] / ours["cpu"])
            note("tanimoto go", go(binary, smiles, "tanimoto")["cpu"] * 1e3)
            note("tanimoto python", python_tanimoto(smiles)["cpu"] * 1e3)
            routes = go(binary, smiles[:ROUTES], "routes")
            note("route", routes["median"] * 1e3)
            note("route p95", routes["p95"] * 1e3)
            note("templates", routes["once"] * 1e3)
            started = go(binary, [], "start")
            note("start", started["wall"] * 1e3)
            note("start cpu", started["cpu"] * 1e3)

    busy = os.getloadavg()[0] > 1.5
    rows = (  # name, unit, key, target, sign: 1 for at least, -1 for at most, 0 without a target
        ("Go, whole set", "mol/s of CPU", "go", None, 0),
        ("Python RDKit, whole set", "mol/s of CPU", "python", None, 0),
        ("Python RDKit, logP once", "mol/s of CPU", "python, logP once", None, 0),
        ("Go / Python", "x", "ratio", 2.5, 1),
        ("Go / Python with logP once", "x", "ratio, logP once", None, 0),
        ("2 goroutines / 1, wall time", "x", "two goroutines", 1.8, 1),
        ("2 goroutines / 1, CPU per molecule", "x", "cost of two", None, 0),
        ("a million Tanimoto pairs, Go", "ms", "tanimoto go", 50, -1),
        ("a million Tanimoto pairs, Python", "ms", "tanimoto python", None, 0),
        ("a route to a molecule, median", "ms of CPU", "route", 20, -1),
        ("a route to a molecule, 95 %", "ms of CPU", "route p95", None, 0),
        ("before the first route: templates", "ms of CPU", "templates", None, 0),
        ("start: first molecule with all scores", "ms", "start", 100, -1),
        ("the same, CPU of the process", "ms", "start cpu", 100, -1),
    )
    print(f"{len(smiles)} molecules, {args.rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"{'':38} {'':13} {'min':>8} {'median':>8} {'max':>8}  target")
    for name, unit, key, target, sign in rows:
        verdict = ""
        if target is not None:
            met = sign * statistics.median(measured[key]) >= sign * target
            excused = key in ("two goroutines", "start") and (busy or (os.cpu_count() or 1) < 2)
            verdict = f"{'>=' if sign > 0 else '<='} {target:g} {'met' if met else 'MISSED'}"
            verdict += " (machine not idle)" if excused and not met else ""
        print(f"{name:38} {unit:13} {spread(measured[key])}  {verdict}")


if __name__ == "__main__":
    main()

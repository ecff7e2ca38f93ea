"""The share of the machine that other programs used during a measurement."""

from __future__ import annotations

import os
from pathlib import Path

MAX_OTHERS = 0.10
"""Above this share of the machine for other programs, no bound is judged."""


class Busy:
    """Measures other programs from its creation on: all but this process, `roots` and the descendants of these."""

    def __init__(self, *roots: int) -> None:
        self.roots = {os.getpid(), *roots}
        self.before = self._now()

    def _now(self) -> tuple[int, int, int]:
        """Ticks so far: busy ticks of all cores, all ticks, and those of the measured processes."""
        numbers = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
        return sum(numbers) - numbers[3] - numbers[4], sum(numbers), self._measured_ticks()

    def _measured_ticks(self) -> int:
        parents, times = {}, {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # the process has ended
                continue
            parents[int(stat.parent.name)] = int(fields[1])
            # User and system time, of the process and of its ended children.
            times[int(stat.parent.name)] = sum(int(field) for field in fields[11:15])
        return sum(ticks for pid, ticks in times.items() if self._is_measured(pid, parents))

    def _is_measured(self, pid: int, parents: dict[int, int]) -> bool:
        while pid > 1:
            if pid in self.roots:
                return True
            pid = parents.get(pid, 0)
        return False

    def others(self) -> float:
        """Returns the share of the machine that other programs have used."""
        busy, ticks, measured = (now - before for now, before in zip(self._now(), self.before))
        return max(0.0, (busy - measured) / max(1, ticks))


def verdict(value: float, others: float, least: float | None = None, most: float | None = None) -> str:
    """Says whether value meets its bound, as in "at least 0.70 wanted: met", or why it is not judged."""
    bound = f"at least {least:.2f} wanted" if least is not None else f"at most {most:.2f} wanted"
    if others > MAX_OTHERS:
        return f"{bound}: not judged, others took {others:.0%}"
    good = (least is None or value >= least) and (most is None or value <= most)
    return f"{bound}: {'met' if good else 'missed'}, others took {others:.0%}"

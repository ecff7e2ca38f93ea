"""Shared code of the scripts that run other projects' clients, such as openai_client.py: standard library only."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence


def result(case: Callable[[], object]) -> object:
    """The result of a case, or the traceback of its failure."""
    try:
        return case()
    except Exception:
        return traceback.format_exc()[-3000:]


def report(cases: Sequence[Callable[[], object]]) -> None:
    """Prints the results of the cases as one JSON object, by their names."""
    print(json.dumps({case.__name__: result(case) for case in cases}))

"""Hooks of schemathesis for test_schema.py: no request of the molecule APIs takes more than a few seconds.

A number within the documented bounds is reduced; numbers out of bounds and other values are sent as generated.
"""

from __future__ import annotations

import schemathesis

ENOUGH = {"num_molecules": 3, "particles": 6, "iterations": 2, "rounds": 1, "attempts": 1, "min_add_len": 8}
DOCUMENTED = {
    "num_molecules": 1000,
    "particles": 1000,
    "iterations": 1000,
    "rounds": 50,
    "attempts": 10,
    "min_add_len": 128,
}
LISTS = {"sequences": 2, "smi": 2, "property_name": 2, "known": 2}
"""Lists of which only the first elements are sent."""


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    if isinstance(case.body, dict):
        case.body = {name: smaller(name, value) for name, value in case.body.items()}


def smaller(name: str, value: object) -> object:
    if isinstance(value, list) and name in LISTS:
        return value[: LISTS[name]]
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and ENOUGH.get(name, value) < value <= DOCUMENTED.get(name, 0)
    ):
        return ENOUGH[name]
    return value

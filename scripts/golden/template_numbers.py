#!/usr/bin/env python3
"""Writes the results of expressions with numbers in the reference, Jinja2 as transformers uses it.

    python scripts/golden/template_numbers.py

Needs Python 3.11 with transformers==5.23.0 and jinja2==3.1.6.

A line of tokenizers/template/testdata/numbers.txt is an expression and its result: the printed text, "error" with the
exception of the reference, or "overflow" for an integer beyond 64 bits, which package template refuses.
"""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import jinja2
import transformers
from transformers.utils import chat_template_utils

OUT = Path(__file__).resolve().parents[2] / "tokenizers" / "template" / "testdata" / "numbers.txt"

INTEGERS = [
    "0",
    "1",
    "-1",
    "3",
    "-7",
    "65",
    "9007199254740993",
    "-9007199254740993",
    "4611686018427387904",
    "9223372036854775807",
    "(-9223372036854775807 - 1)",
]
FLOATS = [
    "0.0",
    "(-0.0)",
    "2.5",
    "-2.5",
    "0.1",
    "9007199254740992.0",
    "9223372036854775808.0",
    "1e308",
    "-1e308",
    "1e-320",
    "1e400",
    "-1e400",
    "(1e400 - 1e400)",
]
OTHERS = ["true", "false", "'2'", "none", "nobody"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">="]
UNARY = [
    "abs",
    "int",
    "float",
    "string",
    "tojson",
    "round",
    "round(1)",
    "round(-1)",
    "round(-3)",
    "round(30)",
    "round(400)",
    "round(-400)",
    "round(method='floor')",
    "round(method='ceil')",
    "round(2, 'floor')",
    "round(-2, 'ceil')",
    "round(1, 'up')",
    "int(7)",
    "float(7)",
]
TESTS = [
    "even",
    "odd",
    "divisibleby(3)",
    "divisibleby(2.5)",
    "divisibleby(0)",
    "number",
    "integer",
    "float",
    "boolean",
    "sameas 1",
]
FORMATS = [
    "%d",
    "%i",
    "%5d",
    "%-5d|",
    "%05d",
    "%+d",
    "% d",
    "%x",
    "%#x",
    "%X",
    "%o",
    "%f",
    "%.2f",
    "%8.3f",
    "%-8.1f|",
    "%08.1f",
    "%+f",
    "%e",
    "%.3e",
    "%g",
    "%.3g",
    "%G",
    "%s",
    "%5s",
    "%-5s|",
    "%05s",
    "%+s",
    "%.2s",
    "%r",
]
TEXTS = [
    "",
    " ",
    "3",
    " 42 ",
    "-7",
    "+5",
    "- 5",
    "--5",
    "3.9",
    "-3.9",
    "1e3",
    "1e400",
    "-inf",
    "nan",
    "infinity",
    "1_000",
    "1__0",
    "_1",
    "1_",
    "1_0.5",
    "0x10",
    "0x1p4",
    "0b11",
    "0o17",
    "ff",
    "FF",
    "zz",
    "010",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "99999999999999999999",
    ".5",
    "5.",
    "1e",
    "abc",
    "1,5",
    "True",
]
LISTS = [
    "[]",
    "[1, 2, 3]",
    "[0.1] * 10",
    "[1, 2.5, true]",
    "[9223372036854775807, 1]",
    "[1, '2']",
    "[1e308, 1e308]",
    "[[1], [2, 3]]",
    "[9007199254740993, 9007199254740992.0]",
    "[9007199254740992.0, 9007199254740993]",
    "[2.5, 1, true, 0]",
    "['b', 'A', 'a']",
]
MORE = [
    "2 ** 62",
    "2 ** 63",
    "2 ** 70",
    "(-1) ** 65",
    "(-1) ** 64",
    "(-2) ** 63",
    "(-2) ** 64",
    "0 ** 0",
    "0 ** 100",
    "2 ** -1",
    "0 ** -1",
    "0.0 ** -1",
    "(-8) ** 0.5",
    "(-8.0) ** 2.0",
    "10.0 ** 400",
    "2 ** 0.5",
    "2 ** 3 ** 2",
    "-2 ** 2",
    "1_000_000 * 1_000_000",
    "9007199254740993 // 1",
    "9007199254740993 / 1",
    "9007199254740993 % 10",
    "-9007199254740993 // 2",
    "-(-9223372036854775807 - 1)",
    "--5",
    "+true",
    "-true",
    "+'a'",
    "-'a'",
    "-none",
    "-0.0",
    "+(-0.0)",
    "7 // -2",
    "-7 % -3",
    "7.5 // -2",
    "-7.5 % 2",
    "5 % 1e400",
    "-5 % 1e400",
    "1e16 // 1",
    "1e300 // 1e-10",
    "0.3 // 0.1",
    "2.675 | round(2)",
    "0.5 | round",
    "1.5 | round",
    "2.5 | round",
    "-0.4 | round",
    "1234.5 | round(-2)",
    "1250 | round(-2)",
    "1350 | round(-2)",
    "-1250 | round(-2)",
    "9223372036854775807 | round(-1)",
    "5 | round",
    "true | round",
    "12.345 | round(1, 'ceil')",
    "100000000000000000000",
    "100000000000000000000.0",
    "1e5",
    "12345678.9",
    "1e16",
    "123456789012345678.0",
    "1e-5",
    "0.0001",
    "'%d' % 1e20",
    "'%g' % 1e6",
    "'%g' % 123456",
    "'%g' % 1234567",
    "'%g' % 0.0001",
    "'%g' % 0.00001",
    "'%g' % 100000",
    "'%.0f' % 2.5",
    "'%.0f' % 3.5",
    "'%5%'",
    "'%' % 1",
    "'%d' % '1'",
    "'%d %d' % (1, 2)",
    "'%d' % (1, 2)",
    "'%q' % 1",
    "'%x' % 2.0",
    "'%x' % -255",
    "'%#o' % 8",
    "1 in [1.0]",
    "1 in [true]",
    "9007199254740993 in [9007199254740992.0]",
    "{1: 'a'}[1.0]",
    "{true: 'a'}[1]",
    "{1.0: 'a'}",
    "{true: 'a'}",
    "{true: 1, none: 2, 1.5: 3, 2: 4} | tojson",
    "{1: 'a', true: 'b'}",
    "[1, 1.0, true, 2] | unique | list",
    "{(1, 2): 'a'}[(1, 2)]",
    "[(1, 2), (1, 2.0), ('a',)] | unique | list",
    "[[1]] | unique | list",
    "{[1]: 2}",
    "[1e400, -1e400, 1e400 - 1e400] | tojson",
    "[{'k': 'a'}, {'k': 'A'}, {'k': 'a'}] | groupby('k') | map('last') | map('length') | list",
    "[[1, 2], [3, 4]] | map(attribute='1') | list",
    "[[1, 2], [3]] | sum(start=[])",
    "['a', 'b'] | sum(start='')",
    "[1, 2] | sum(start=1.5)",
    "[{'a': 1}, {'a': 2}] | sum(attribute='a')",
    "(1, 2) * 2",
    "2 * 'ab'",
    "'ab' * -1",
    "'ab' * 1.5",
    "[1] * true",
    "'abc'[1::9223372036854775807]",
    "'abc'[::-9223372036854775807]",
    "'abc'[true:]",
    "'abc'[1.5:]",
    "'abc'['a':]",
    "'abc'[nobody:]",
    "5[1:]",
    "nobody[1:]",
    "'2' % [1]",
    "'%s' % [1]",
    "'%% %s' % {'a': 1}",
    "'%%' % [1]",
    "[1, 2][::0]",
    "'héllo wörld'[1:-1]",
    "'héllo'[::-2]",
    "'héllo'[-1]",
    "'héllo'[1]",
    "'héllo'[9]",
    "range(1, 10, 9223372036854775807) | list",
    "range(9223372036854775800, 9223372036854775807, 5) | list",
    "range(5, -5, -3) | list",
    "range(3, 3) | list",
    "'a'.ljust(12, 'é') ~ '|'",
    "'-7'.zfill(5)",
    "'a\\r\\nb\\x0bc\\x85d\\u2028e'.splitlines()",
    "'a\\r\\nb\\n' | indent",
    "'\\\\u2028 \\\\\\\\u2029' | tojson",
    "'\\u2028\\u2029\\x7f\\x00\\x1f\\\\\\\"/' | tojson",
    "'\\u2028\\x7fé🧪\\\\u2028' | tojson(ensure_ascii=true)",
    "[1, {'a': []}] | tojson(indent='--')",
    "[1] | tojson(indent=0)",
    "'xyzzy'.strip('xy')",
    "'a b_c-d é' | wordcount",
    "'ab' | truncate(1, true, '', 0)",
    "[] | slice(2, 'x') | list",
    "[1, 2, 3, 4] | slice(2, 'x') | list",
    "'12' | center(7, ) ~ '|'",
    "[3, 1] | max",
    "['b', 'A'] | min",
]


def expressions() -> list[str]:
    numbers = INTEGERS + FLOATS
    found = []
    for op, a, b in itertools.product(OPERATORS, numbers, numbers):
        small = b in ("0", "1", "-1", "3", "-7", "65") or a in ("0", "1", "-1") or b in FLOATS
        if op != "**" or small:  # other powers do not fit in memory
            found.append(f"{a} {op} {b}")
    for op, a, b in itertools.product(OPERATORS, ["3", "2.5", *OTHERS], OTHERS):
        found += [f"{a} {op} {b}", f"{b} {op} {a}"]
    for value in numbers + OTHERS:
        found += [f"{value} | {f}" for f in UNARY]
        found += [f"{value} is {test}" for test in TESTS]
        found += [f"'{layout}' % {value}" for layout in FORMATS]
        found += [f"-{value}", f"+{value}", f"{value}"]
    for text in TEXTS:
        found += [
            f"'{text}' | {f}"
            for f in ("int", "float", "int(0, 16)", "int(0, 2)", "int(0, 8)", "int(0, 0)", "int(0, 36)", "int(0, 1)")
        ]
    for values in LISTS:
        found += [f"{values} | {f}" for f in ("sum", "max", "min", "sort", "unique | list")]
    return list(dict.fromkeys(found + MORE))


def outcome(expression: str) -> str:
    try:
        prompts, _ = chat_template_utils.render_jinja_template(
            conversations=[[]], chat_template="{{ " + expression + " }}"
        )
    except Exception as error:
        return f"error {type(error).__name__}"
    text = prompts[0]
    integer = re.fullmatch(r"[ +]?(-?\d{19,})\|?", text)
    if integer and not expression.startswith("'%o") and not -(2**63) <= int(integer[1]) < 2**63:
        return "overflow"
    if re.fullmatch(r"\(?.*\dj\)?", text):
        return "error complex"
    return json.dumps(text, ensure_ascii=False)


def main() -> None:
    lines = [
        f"# made by scripts/golden/template_numbers.py: "
        f"jinja2 {jinja2.__version__}, transformers {transformers.__version__}"
    ]
    lines += [f"{expression}\t{outcome(expression)}" for expression in expressions()]
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{OUT.name}: {len(lines) - 1} expressions")


if __name__ == "__main__":
    main()

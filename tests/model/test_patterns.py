"""Patterns that are compiled when they are first used."""

import ast
import re
from pathlib import Path

import carrel
from carrel.model.patterns import lazy_pattern


def test_a_lazy_pattern_acts_as_a_compiled_one() -> None:
    lazy, compiled = lazy_pattern(r"a(b)?", re.IGNORECASE), re.compile(r"a(b)?", re.IGNORECASE)
    assert lazy.findall("xABa") == compiled.findall("xABa")
    assert lazy.sub("-", "xABa") == compiled.sub("-", "xABa")
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert lazy_pattern(rb"\d+").search(b"a12") is not None


def test_every_pattern_that_stands_in_the_code_compiles() -> None:
    count = 0
    for path in Path(carrel.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy_pattern":
                source, *_ = node.args
                if isinstance(source, ast.Constant) and isinstance(source.value, str | bytes):
                    count += 1
                    re.compile(source.value)
    assert count > 100

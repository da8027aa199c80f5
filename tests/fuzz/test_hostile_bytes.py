"""Readers of bytes that strangers wrote, on mutations of good input; the same ones in every run.

`CARREL_TEST_FUZZ_CASES` sets how many for each reader. `make fuzz` runs them under a fuzzer that sees which lines an
input reaches.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.targets import TARGETS, Target

CASES = int(os.environ.get("CARREL_TEST_FUZZ_CASES", "60"))
TOKENS = [
    b"\0",
    b"\xff",
    b"\xed\xa0\xbd",
    b"\n",
    b"\r\n\r\n",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"//",
    b"/*",
    b"%",
    b"%2e",
]
TOKENS += [
    b"..",
    b"`",
    b"#",
    b"'",
    b"\\ud83d",
    b"Content-Length: ",
    b"9" * 20,
    b" ",
    b"\t",
    b"\xc2\x85",
    b"a.b::c",
    b"\xe2\x80\xa8",
]
CHANGE = st.tuples(st.floats(0, 1), st.floats(0, 0.3), st.lists(st.sampled_from(TOKENS) | st.binary(max_size=3), max_size=4))


def changed(seed: bytes, changes: list[tuple[float, float, list[bytes]]]) -> bytes:
    """Replace pieces of a text; places and lengths are shares of what it is then."""
    for place, length, tokens in changes:
        at = round(place * len(seed))
        seed = seed[:at] + b"".join(tokens) + seed[at + round(length * len(seed)) * (at % 2) :]
    return seed


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_mutations_of_good_input_are_read(target: Target) -> None:
    for seed in target.seeds:
        target.run(seed)

    @settings(max_examples=CASES, derandomize=True, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(target.seeds), st.lists(CHANGE, max_size=5))
    def mutations(seed: bytes, changes: list[tuple[float, float, list[bytes]]]) -> None:
        target.run(changed(seed, changes))

    mutations()


FINDINGS = Path(__file__).with_name("findings")


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_fuzzing_found_is_read(path: Path) -> None:
    TARGETS[path.parent.name].run(path.read_bytes())

"""`carrel compare`: what chunks cost beside whole files."""

from __future__ import annotations

from tests.frontends.cli.conftest import Run, one_json


def test_compare_counts_chunks_and_whole_files(run: Run) -> None:
    code, out, _ = run("compare", "verify a password", "--tokens", "70", "--json")
    answer = one_json(out)
    assert code == 0
    assert 0 < answer["chunks"]["tokens"] <= 70 < answer["wholeFiles"]["tokens"]
    assert "src/auth.py" in answer["wholeFiles"]["files"]
    assert "of the whole files' tokens" in run("compare", "verify a password")[1]

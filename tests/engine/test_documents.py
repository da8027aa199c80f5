"""Documents: versions and age, what a folder may give, and the texts that stand for what the core can't read."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from tests.documents import pdf, word, write_documents

from carrel.core.native import CancelToken
from carrel.engine.documents import mirror as mirrors
from carrel.engine.documents.convert import UnreadableDocumentError, to_markdown
from carrel.engine.documents.freshness import DocumentFacts, document_key, facts_of, remaining, superseded
from carrel.engine.documents.mirror import Mirror, convert
from carrel.engine.documents.open_below import read_below

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


def test_a_document_that_takes_too_long_or_breaks_is_given_up() -> None:
    assert convert("html", b"<p>words</p>", seconds=0.001)["problem"].startswith("took longer than")
    assert convert("docx", b"no archive")["problem"].startswith("can't be understood")


def test_texts_follow_their_originals(tmp_path: Path) -> None:
    root = write_documents(tmp_path / "docs")
    refused: set[str] = set()
    mirror = Mirror(root, tmp_path / "kept", lambda path: "ignored" if path in refused else None)

    def texts() -> set[str]:
        return {path.relative_to(mirror.texts).as_posix() for path in mirror.texts.rglob("*.md")}

    assert mirror.update(CancelToken()) == 3
    assert texts() == {"atlas.html.md", "vendor-contract.pdf.md", "leave.docx.md"}
    assert list(mirror.failed) == ["broken.pdf"]
    assert mirror.update(CancelToken()) == 0
    if sys.platform != "win32":
        assert stat.S_IMODE((mirror.texts / "atlas.html.md").stat().st_mode) == 0o600
    refused.add("leave.docx")
    assert mirror.refused("leave.docx.md"), "before the next run, too"
    (root / "atlas.html").unlink()
    assert mirror.update(CancelToken()) == 2
    assert texts() == {"vendor-contract.pdf.md"}
    again = Mirror(root, tmp_path / "kept", lambda _: None)
    assert again.update(CancelToken()) == 1, "another process knows what this one converted"


def test_one_run_converts_what_changed_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def converted(kind: str, _: bytes) -> dict[str, str]:
        asked.append(kind)
        return {"text": "words", "title": ""}

    monkeypatch.setattr(mirrors, "convert", converted)
    root = write_documents(tmp_path / "docs")
    mirror = Mirror(root, tmp_path / "kept", lambda _: None)
    mirror.update(CancelToken())
    assert sorted(asked) == ["docx", "html", "pdf", "pdf"]
    os.utime(root / "atlas.html", ns=(DAY, DAY))  # touched, not changed
    (root / "leave.docx").write_bytes(word("Other", "text"))
    mirror.update(CancelToken())
    assert asked[4:] == ["docx"]


def test_what_a_document_says_is_not_escaped_past_the_recognition_of_secrets() -> None:
    page = b"<h1>Access</h1><p>The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a and *that* is it.</p>"
    assert "ghp_16C7e42F292c6912E7710c838347Ae178B4a and *that* is it." in to_markdown("html", page)["text"]

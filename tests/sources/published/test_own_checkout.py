"""What is known of the checkout that a workspace is, while its remote changes."""

from __future__ import annotations

from pathlib import Path

from tests.sources.published.common import git

from carrel.sources.remote_source import place_of


async def test_a_changed_remote_counts_at_the_next_question(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert await place_of(tmp_path) == ("", "")
    git(tmp_path, "remote", "add", "origin", "https://example.com/acme/billing.git")
    (tmp_path / "inner").mkdir()
    assert await place_of(tmp_path / "inner") == ("acme/billing", "inner/")
    git(tmp_path, "remote", "remove", "origin")
    assert await place_of(tmp_path) == ("", "")

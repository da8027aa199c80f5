"""What is known of the checkout that a workspace is, while its remote changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.sources.published.common import git

from carrel.git import git as git_of_a_folder
from carrel.sources.remote_source import OwnCheckout, Place


async def test_a_changed_remote_counts_at_the_next_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    origin = git_of_a_folder.origin

    def ask(root: Path) -> str:
        asked.append(root)
        return origin(root)

    monkeypatch.setattr(git_of_a_folder, "origin", ask)
    git(tmp_path, "init", "-q")
    checkout = OwnCheckout(tmp_path)
    assert await checkout.place() == Place("", "")
    git(tmp_path, "remote", "add", "origin", "https://example.com/acme/billing.git")
    assert [await checkout.place() for _ in range(3)] == [Place("acme/billing", "")] * 3
    assert len(asked) == 2, "what didn't change isn't asked again"
    git(tmp_path, "remote", "set-url", "origin", "https://example.com/other/billing.git")
    assert await checkout.place() == Place("other/billing", "")
    git(tmp_path, "remote", "remove", "origin")
    assert await checkout.place() == Place("", "")

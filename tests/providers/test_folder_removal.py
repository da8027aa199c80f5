"""Folders that other programs filled are removed, whatever is in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from carrel.system.leftovers import remove_folder

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="folders are made and removed by descriptors")


def nested(folder: Path, depth: int) -> None:
    """Make folders within folders, deeper than a path can say."""
    within = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d" * 50, dir_fd=within)
        inner = os.open("d" * 50, os.O_RDONLY, dir_fd=within)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(within)
        within = inner
    os.close(within)


@POSIX
def test_folders_without_end_and_without_rights_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    (folder / "closed" / "inner").mkdir(parents=True)
    (folder / "closed" / "inner" / "file").write_text("x")
    (folder / "closed" / "inner").chmod(0)
    (folder / "closed").chmod(0)
    (folder / ".carrel-0").mkdir()
    nested(folder, 1_200)
    assert remove_folder(str(folder))
    assert not folder.exists()


@POSIX
def test_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = tmp_path / "it"
    (folder / "inner").mkdir(parents=True)
    (folder / "link").symlink_to(kept)
    (folder / "inner" / "link").symlink_to(kept)
    (tmp_path / "place").symlink_to(kept)
    assert remove_folder(str(folder))
    assert remove_folder(str(tmp_path / "place"))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "x"


def test_it_gives_up_in_time_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    for number in range(50):
        (folder / str(number)).write_text("x")
    if sys.platform != "win32":
        assert not remove_folder(str(folder), 0)
    assert remove_folder(str(folder))
    assert remove_folder(str(folder)), "what isn't there is gone"

"""Where an index lives, how it is labelled, and what is cleaned up."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.frontends.cli.terminal import posix_only

from carrel.index import index_location
from carrel.index.index_location import KEEP_GONE_SECONDS, clean_up, discard, folder_name, locate, prepare
from carrel.model.errors import StoreError
from carrel.settings.settings import Settings
from carrel.system.filesystem import darwin_mounts, linux_mounts, mount_type


def in_cache(folder: Path) -> Settings:
    return Settings(cache_folder=str(folder))


def test_one_index_for_every_spelling_of_a_root(tmp_path: Path) -> None:
    real = tmp_path / "my project"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    name = folder_name(real)
    assert name.startswith("my-project-")
    assert folder_name(tmp_path / "link") == folder_name(real / "src" / "..") == name
    assert folder_name(tmp_path).rpartition("-")[2] != name.rpartition("-")[2]


def test_the_cache_is_labelled(tmp_path: Path) -> None:
    location = locate(tmp_path, in_cache(tmp_path / "cache"))
    prepare(location, tmp_path)
    indexes = tmp_path / "cache" / "indexes"
    assert (indexes / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert (indexes / "README.txt").is_file()
    assert json.loads((location.directory / "workspace.json").read_text()) == {"root": os.path.realpath(tmp_path)}


def test_an_index_in_the_workspace_hides_itself_from_git(tmp_path: Path) -> None:
    location = locate(tmp_path, Settings(storage="workspace"))
    prepare(location, tmp_path)
    assert location.directory == tmp_path / ".carrel"
    assert (tmp_path / ".carrel" / ".gitignore").read_text() == "*\n"


def test_a_link_in_the_place_of_the_projects_index_is_not_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    root.mkdir()
    (root / ".carrel").symlink_to(elsewhere)
    for made in (False, True):
        location = locate(root, Settings(storage="workspace", cache_folder=str(tmp_path / "local")))
        assert (location.in_workspace, location.directory.parent) == (False, tmp_path / "local" / "indexes")
        assert ".carrel is a link" in location.problems[0]
        if not made:
            elsewhere.mkdir()


def test_a_workspace_on_a_network_mount_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_location, "is_network", lambda path: path == tmp_path)
    location = locate(tmp_path, Settings(storage="workspace", cache_folder=str(tmp_path / "local")))
    assert not location.in_workspace
    assert "network mount" in location.problems[0]


@posix_only
def test_nobody_else_reads_indexes_or_puts_others_in_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0)
    try:
        prepare(locate(tmp_path, in_cache(tmp_path / "cache")), tmp_path)
        assert {(tmp_path / "cache" / name).stat().st_mode & 0o777 for name in ("", "indexes")} == {0o700}
        (tmp_path / "cache" / "indexes").chmod(0o755)  # of an earlier version
        prepare(locate(tmp_path, in_cache(tmp_path / "cache")), tmp_path)
        assert (tmp_path / "cache" / "indexes").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1000)
    for planted in ("outer", "outer/indexes"):
        (tmp_path / planted).mkdir()
        if tmp_path.stat().st_uid == 0:
            os.chown(tmp_path / planted, 4321, -1)
        with pytest.raises(PermissionError, match="belongs to somebody else"):
            prepare(locate(tmp_path, in_cache(tmp_path / "outer")), tmp_path)
        assert not list((tmp_path / planted).iterdir())


def test_only_indexes_of_folders_long_gone_are_deleted(tmp_path: Path) -> None:
    settings = in_cache(tmp_path / "cache")
    roots = {name: tmp_path / name for name in ("here", "gone", "gone-lately")}
    for root in roots.values():
        root.mkdir()
        prepare(locate(root, settings), root)
    long_ago = time.time() - KEEP_GONE_SECONDS - 60
    for name in ("here", "gone"):
        os.utime(locate(roots[name], settings).directory / "workspace.json", (long_ago, long_ago))
    old = {name: locate(root, settings).directory for name, root in roots.items()}
    roots["gone"].rmdir()
    roots["gone-lately"].rmdir()
    assert clean_up(tmp_path / "cache" / "indexes") == [old["gone"]]
    assert [name for name, directory in old.items() if directory.exists()] == ["here", "gone-lately"]


def test_a_foreign_folder_in_the_cache_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "workspace.json").write_text("[]")
    assert clean_up(tmp_path) == []


def test_mounts_of_linux() -> None:
    text = (
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "40 22 0:35 / /mnt/my\\040share rw shared:2 - nfs4 server:/x rw\n"
        "41 22 0:36 / /mnt/my\\040share/local rw - ext4 /dev/sdb rw\n"
        "42 22 0:37 / /mnt/a\u2028b rw - nfs4 server:/y rw\n"
        "broken line\n"
    )
    mounts = linux_mounts(text)
    assert mount_type(Path("/mnt/my share/a"), mounts) == "nfs4"
    assert mount_type(Path("/mnt/my share/local/a"), mounts) == "ext4"
    assert mount_type(Path("/mnt/my shares"), mounts) == "ext4"
    assert mount_type(Path("/mnt/a\u2028b/c"), mounts) == "nfs4"


def test_mounts_of_macos() -> None:
    text = "/dev/disk3s1 on / (apfs, sealed, local)\n//me@nas/my (old) share on /Volumes/share (smbfs, nodev)\n"
    assert mount_type(Path("/Volumes/share/x"), darwin_mounts(text)) == "smbfs"


@pytest.mark.parametrize("stuck", ["index.db", "a.seg", "writer.lock"])
def test_an_index_that_cannot_be_deleted_says_so(tmp_path: Path, stuck: str) -> None:
    """A folder in a file's place can be unlinked or opened by nobody, whoever runs the test."""
    (tmp_path / "index.db-wal").write_text("four")
    (tmp_path / stuck).mkdir()
    with pytest.raises(StoreError, match="can't be deleted") as refused:
        discard(tmp_path)
    assert stuck in str(refused.value)
    assert f"make {tmp_path} yours to write" in refused.value.remedy
    (tmp_path / stuck).rmdir()
    (tmp_path / "b.seg").write_text("seven b")
    assert discard(tmp_path) >= len("seven b")
    assert not list(tmp_path.glob("*.seg"))

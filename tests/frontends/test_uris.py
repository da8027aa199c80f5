"""URIs as editors spell them, on every system."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.frontends.common.uris import folder_path, ignores_case, join_uri, longest_match, path_to_uri, relative_to, uri_to_path

POSIX, WINDOWS = False, True


@pytest.mark.parametrize(
    ("uri", "windows", "path"),
    [
        ("file:///home/me/a.py", POSIX, "/home/me/a.py"),
        ("FILE:///home/me/a%20b/%C3%A9.py", POSIX, "/home/me/a b/é.py"),
        ("file:///a%23b%3Fc.py", POSIX, "/a#b?c.py"),
        ("file:/home/me", POSIX, "/home/me"),
        ("file://localhost/home/me/", POSIX, "/home/me"),
        ("file:///home/me/../you", POSIX, "/home/you"),
        ("file:///c%3A/x", POSIX, "/c:/x"),
        ("file://server/share/x", POSIX, None),
        ("file:///a%00b", POSIX, None),
        ("file:///c%3A/Users/me/a.py", WINDOWS, "C:\\Users\\me\\a.py"),
        ("file:///C:/Users", WINDOWS, "C:\\Users"),
        ("file:///c:", WINDOWS, "C:\\"),
        ("file://server/share/a%20b", WINDOWS, "\\\\server\\share\\a b"),
        ("file://wsl.localhost/Ubuntu/home/me", WINDOWS, "\\\\wsl.localhost\\Ubuntu\\home\\me"),
        ("file://wsl%24/Ubuntu/home", WINDOWS, "\\\\wsl$\\Ubuntu\\home"),
        ("file:///C:/w/..%5cother%5C..\\a.py", WINDOWS, "C:\\a.py"),
        ("file://ser%5Cver/share/x", WINDOWS, None),
        ("file:///home/me", WINDOWS, None),
        ("untitled:Untitled-1", POSIX, None),
        ("vscode-remote://ssh-remote%2Bhost/home/me/a.py", POSIX, None),
        ("vscode-userdata:/home/me/x", POSIX, None),
        ("git:/home/me/a.py?%7B%7D", POSIX, None),
        ("/home/me/a.py", POSIX, None),
        ("", POSIX, None),
        ("file:", POSIX, None),
    ],
)
def test_uri_to_path(uri: str, windows: bool, path: str | None) -> None:
    assert uri_to_path(uri, windows=windows) == path


@pytest.mark.parametrize(
    ("path", "windows"),
    [
        ("/home/me/a b/é#?%.py", POSIX),
        ("C:\\Users\\me\\a b.py", WINDOWS),
        ("\\\\server\\share\\x", WINDOWS),
        ("\\\\wsl$\\Ubuntu\\home", WINDOWS),
        ("/home/\udcff/latin1-name", POSIX),
    ],
)
def test_paths_survive_the_way_there_and_back(path: str, windows: bool) -> None:
    assert uri_to_path(path_to_uri(path, windows=windows), windows=windows) == path


@given(st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_any_posix_path_survives(parts: list[str]) -> None:
    if any(part in (".", "..") for part in parts):
        return
    path = "/" + "/".join(parts)
    assert uri_to_path(path_to_uri(path, windows=False), windows=False) == path
    assert uri_to_path(join_uri("file:///", "/".join(parts)), windows=False) == path


@pytest.mark.parametrize(
    ("root", "path", "windows", "ignore_case", "relative"),
    [
        ("/w", "/w/a/b.py", POSIX, False, "a/b.py"),
        ("/w/", "/w/a", POSIX, False, "a"),
        ("/", "/w/a", POSIX, False, "w/a"),
        ("/w", "/w", POSIX, False, None),
        ("/w", "/wide/a", POSIX, False, None),
        ("/w", "/w/../etc/passwd", POSIX, False, None),
        ("/w", "/W/a", POSIX, False, None),
        ("/w", "/W/A.py", POSIX, True, "A.py"),
        ("/caf\u00e9", "/cafe\u0301/a.py", POSIX, True, "a.py"),
        ("C:\\w", "c:\\W\\a\\b.py", WINDOWS, True, "a/b.py"),
        ("\\\\srv\\s\\w", "\\\\srv\\s\\w\\a", WINDOWS, True, "a"),
        ("C:\\w", "D:\\w\\a", WINDOWS, True, None),
    ],
)
def test_relative_to(root: str, path: str, windows: bool, ignore_case: bool, relative: str | None) -> None:
    assert relative_to(root, path, windows=windows, ignore_case=ignore_case) == relative


def test_the_innermost_folder_answers() -> None:
    assert longest_match(["/w", "/w/inner", "/other"], "/w/inner/a.py", windows=False) == ("/w/inner", "a.py")
    assert longest_match(["/w"], "/elsewhere/a.py", windows=False) is None


def test_hits_are_spelled_as_the_editor_spells_its_folder() -> None:
    assert join_uri("file:///c%3A/My%20Work", "a b/ü.py") == "file:///c%3A/My%20Work/a%20b/%C3%BC.py"


@pytest.mark.parametrize(("folder", "path"), [("file:///w", "/w"), ("/w", "/w"), ("w", None), ("vscode-remote://x/w", None)])
def test_a_folder_is_a_uri_or_an_absolute_path(folder: str, path: str | None) -> None:
    assert folder_path(folder, windows=False) == path


def test_case_is_asked_of_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "Mixed").mkdir()
    expected = (tmp_path / "mIXED").exists()
    assert ignores_case(tmp_path / "Mixed") == expected

"""File URIs and paths. Editors spell the same file in many ways; this module alone knows them.

Only `file:` URIs name files that can be read here: `untitled:`, `vscode-remote:`, `git:` and the like give None.
Windows rules are a parameter, not a question to the system, so that they are tested everywhere.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, unquote

from carrel.model.patterns import lazy_pattern

WINDOWS = os.name == "nt"
_DRIVE = lazy_pattern(r"^/?([A-Za-z]):(?=/|$)")


def uri_to_path(uri: str, *, windows: bool = WINDOWS) -> str | None:
    """Give the absolute path that a file URI names on this machine, or None if it names none."""
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme.lower() != "file":
        return None
    authority, path = "", rest
    if rest.startswith("//"):
        authority, slash, tail = rest[2:].partition("/")
        path = slash + tail
    authority = unquote(authority, errors="surrogateescape")
    path = _slashes(unquote(path, errors="surrogateescape"), windows)
    if "\0" in path or not path.startswith("/") or "/" in _slashes(authority, windows):
        return None
    if authority.lower() == "localhost":
        authority = ""
    if not windows:
        return None if authority else _tidy(path)
    if authority:
        return "\\\\" + authority + _tidy(path).replace("/", "\\")
    if drive := _DRIVE.match(path):
        return f"{drive[1].upper()}:" + (_tidy(path[drive.end() :] or "/")).replace("/", "\\")
    return None


def path_to_uri(path: str, *, windows: bool = WINDOWS) -> str:
    """Give the URI of an absolute path, with a percent sign before everything but plain characters."""
    if not windows:
        return "file://" + _quote(path)
    path = path.replace("\\", "/")
    if path.startswith("//"):
        authority, _, rest = path[2:].partition("/")
        return f"file://{_quote(authority, safe='$.-')}/{_quote(rest)}"
    if drive := _DRIVE.match(path):
        return f"file:///{drive[1].lower()}%3A{_quote(path[drive.end() :])}"
    return "file:///" + _quote(path.lstrip("/"))


def join_uri(folder_uri: str, relative: str) -> str:
    """Give the URI of a file in a folder, in the folder's own spelling, so that the editor sees one file and not two."""
    return f"{folder_uri.rstrip('/')}/{_quote(relative)}"


def folder_path(folder: str, *, windows: bool = WINDOWS) -> str | None:
    """Read a workspace folder given as a URI or as an absolute path."""
    if re.match(r"^[A-Za-z][A-Za-z0-9+.-]+:", folder):
        return uri_to_path(folder, windows=windows)
    return folder if (Path(folder).is_absolute() if windows == WINDOWS else folder[:1] in "/\\") else None


def relative_to(root: str, path: str, *, windows: bool = WINDOWS, ignore_case: bool = False) -> str | None:
    """Give `path` relative to `root` with `/`, or None when it lies outside."""
    root, path = _slashes(root, windows), _slashes(path, windows)
    if root != "/":
        root = root.rstrip("/")
    parts = path.split("/")
    if ".." in parts:
        return None
    prefix = root if root.endswith("/") else root + "/"
    head, tail = path[: len(prefix)], path[len(prefix) :]
    if _fold(head, ignore_case) == _fold(prefix, ignore_case):
        return tail or None
    # A case-insensitive system may also compose characters differently, so lengths may differ: compare part by part.
    count = prefix.count("/")
    if ignore_case and _fold("/".join(parts[:count]), fold=True) == _fold(prefix[:-1], fold=True):
        return "/".join(parts[count:]) or None
    return None


def longest_match(
    roots: Iterable[str], path: str, *, windows: bool = WINDOWS, ignore_case: bool = False
) -> tuple[str, str] | None:
    """Find the innermost root that holds `path`: (root, relative path)."""
    matches = [
        (root, relative)
        for root in roots
        if (relative := relative_to(root, path, windows=windows, ignore_case=ignore_case)) is not None
    ]
    return max(matches, key=lambda pair: len(pair[0]), default=None)


def ignores_case(folder: Path) -> bool:
    """Ask the file system whether `folder` is found when its name is spelled in the other case."""
    twin = folder.with_name(folder.name.swapcase())
    if twin == folder:
        return WINDOWS
    try:
        return folder.samefile(twin)
    except OSError:
        return False


def _slashes(path: str, windows: bool) -> str:
    return path.replace("\\", "/") if windows else path


def _fold(text: str, fold: bool) -> str:
    return unicodedata.normalize("NFC", text).casefold() if fold else text


def _tidy(path: str) -> str:
    tidy = posixpath.normpath(path)
    return tidy[1:] if tidy.startswith("//") else tidy


def _quote(path: str, safe: str = "/-._~") -> str:
    return quote(path.encode("utf-8", "surrogateescape"), safe=safe)

"""The names of resources: `carrel://code/FOLDER/PATH` is a file, with `?lines=A-B` some lines of it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from carrel.model.errors import InvalidInput
from carrel.model.patterns import lazy_pattern

PREFIX = "carrel://code/"
FILE_TEMPLATE = PREFIX + "{folder}/{+path}"
LINES_TEMPLATE = FILE_TEMPLATE + "?lines={start}-{end}"
_LINES = lazy_pattern(r"lines=([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class ResourceRef:
    """What a resource's URI names. `lines` are 1-based and inclusive; None is the whole file."""

    folder: str
    path: str
    lines: tuple[int, int] | None = None


def build(folder: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Return the URI of a file or of some lines of it."""
    name = quote(folder.encode("utf-8", "surrogateescape"), safe="-._~")
    rest = quote(path.encode("utf-8", "surrogateescape"), safe="/-._~")
    return f"{PREFIX}{name}/{rest}" + (f"?lines={lines[0]}-{lines[1]}" if lines else "")


def parse(uri: str) -> ResourceRef:
    """Read a resource's URI; raises `InvalidInput`. Whether its path may be read is the gate's to say."""
    if not uri.startswith(PREFIX):
        raise InvalidInput("uri", "is not one of this server's", f"They begin with {PREFIX}")
    rest, _, query = uri[len(PREFIX) :].partition("?")
    folder, _, path = rest.partition("/")
    folder, path = (unquote(part, errors="surrogateescape") for part in (folder, path))
    if not folder or not path or path.startswith("/"):
        raise InvalidInput("uri", "names no file", f"The form is {FILE_TEMPLATE}")
    if not query:
        return ResourceRef(folder, path)
    match = _LINES.fullmatch(query)
    lines = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= lines[0] <= lines[1]:
        raise InvalidInput("uri", "names no lines", "The form is lines=10-20", value=query)
    return ResourceRef(folder, path, lines)

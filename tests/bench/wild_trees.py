"""A source tree as it lies on disk: its text files, and its definitions by `ctags`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MOST_DEFINITIONS = 3
"""A name that is defined more often isn't asked for: no place is the right one."""

Place = tuple[str, int, int]

_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NAME = re.compile(r"[^\W\d][\w.'?!*<>=/+-]*")
_KINDS = frozenset(
    "class command def enum function generic interface macro method object procedure protocol record "  # noqa: SIM905 - reads best so
    "singletonMethod struct subroutine table trait trigger type typedef union view".split()
)
_NO_CODE = frozenset(
    "Ant Asciidoc Autoconf Automake BibTeX CMake CPreProcessor CSS DTD DTS Diff HTML Iniconf JSON "  # noqa: SIM905 - reads best so
    "JavaProperties M4 Make Man Markdown Maven2 Meson Pod ReStructuredText RelaxNG RpmSpec SCSS SVG Tex Txt2tags XML XSLT "
    "Yaml".split()
)


class ProgramMissing(Exception):
    """A program that is needed isn't installed; the text says which, and how to get it."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name, and every place that defines it: path, first and last line. The last is 0 where it isn't known."""

    name: str
    places: tuple[Place, ...]


def texts_of(root: Path) -> dict[str, str]:
    """Read every file that is text by its bytes, whatever its name. Links aren't followed, and git's own folder isn't read."""
    texts = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != ".git")
        for path in (Path(folder) / name for name in sorted(names)):
            if path.is_file() and not path.is_symlink() and (text := decoded(path.read_bytes())):
                texts[path.relative_to(root).as_posix()] = text
    return texts


def decoded(data: bytes) -> str | None:
    """Return the text in a file's bytes; None where they are none, or blank."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if not data.strip() or _NOT_TEXT.search(data[:8_192]):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Of text in one of the older encodings most bytes are ASCII, but for that in other scripts.
        return data.decode("latin-1") if len(data.translate(None, bytes(range(0x80)))) < len(data) / 3 else None


def lines_of(text: str) -> list[str]:
    """Cut a text where editors end a line."""
    return re.split(r"\r\n|\r|\n", text)


def definitions_by_ctags(root: Path, texts: Mapping[str, str]) -> list[Definition]:
    """Return the definitions of code whose name stands where `ctags` says. Raises `ProgramMissing`."""
    program = shutil.which("ctags")
    version = subprocess.run([program, "--version"], text=True, capture_output=True, check=False).stdout if program else ""
    if program is None or "Universal Ctags" not in version:
        raise ProgramMissing("Definitions are those of universal-ctags, which isn't installed: apt-get install universal-ctags")
    reading = ["--map-TypeScript=+.tsx", "--map-JavaScript=+.jsx", "--links=no", "--exclude=.git", "-R"]
    # Before version 6 it knows no constants of Rust, which may be called as those of C that they bind.
    reading += ["--kinddef-Rust=K,const,constants", r"--regex-Rust=/^\s*(pub(\([^)]*\))?\s+)?const\s+(\w+)\s*:/\3/K/"]
    command = [program, "--output-format=json", "--fields=+neKl", *reading, "-f", "-", "."]
    printed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    places: dict[str, set[Place]] = defaultdict(set)
    wanted: set[str] = set()
    for line in printed.split(b"\n"):
        try:
            tag = json.loads(line)
        except ValueError:
            continue  # the end, or a name that isn't UTF-8
        if tag.get("_type") != "tag" or tag.get("language") in _NO_CODE or "line" not in tag:
            continue
        path, name = tag["path"].removeprefix("./"), re.split(r"[.:]", tag["name"])[-1]
        if path.endswith(".h") and "@interface" in texts.get(path, ""):
            continue  # Objective-C, which ctags reads as C++
        places[name].add((path, tag["line"], tag.get("end", 0)))
        if tag["kind"] in _KINDS and len(name) > 2 and name != "constructor" and _NAME.fullmatch(name):
            wanted.add(name)
    lines = {path: lines_of(text) for path, text in texts.items()}

    def stands(name: str) -> bool:  # what has no name gets one from ctags
        return all(name in "".join(lines.get(path, [])[start - 1 : start]) for path, start, _ in places[name])

    wanted = {name for name in wanted if len(places[name]) <= MOST_DEFINITIONS and stands(name)}
    return [Definition(name, tuple(sorted(places[name]))) for name in sorted(wanted)]

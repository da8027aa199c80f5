"""Write one result to standard output and all else to standard error, and show workspace text there.

Names and code are data, and a terminal obeys what it is shown: an escape sequence in a file's name could clear the screen or
answer for the person, a line end could forge a line of Carrel's own, a bidirectional control could make code read as what it
isn't, a sign without a width could make two names look the same. All are shown as `\\x1b` or `\\u202e`. A folder that was typed
is checked here, too.
Servers start by this module, so nothing slow is loaded here.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.lines import LINE_END, lines_of, single_line
from carrel.model.patterns import lazy_pattern

if TYPE_CHECKING:
    from rich.console import Console

    from carrel.model.local_index import Progress


class OutputClosed(Exception):
    """The reader of standard output has seen enough (`carrel search … | head`)."""


class OutputFailed(Exception):
    """Standard output doesn't take the answer."""


_results: TextIO | None = None
"""The stream of results while `results_alone` holds; else standard output."""


@contextmanager
def results_alone() -> Iterator[None]:
    """Have whatever else prints, such as a package that a setting names, print on standard error: scripts read the result."""
    global _results  # noqa: PLW0603 - as standard output itself is
    before, _results = _results, sys.stdout
    try:
        with redirect_stdout(sys.stderr if sys.stdout else None):
            yield
    finally:
        _results = before


class Output:
    """Prints results and failures in the form that was asked for."""

    def __init__(self, *, json: bool = False, silent: bool = False) -> None:
        self.json, self.silent = json, silent

    def value(self, value: object) -> None:
        """Print the one JSON value where `--json` asks for it; `value` is a wire struct or plain data."""
        if self.json:
            self.json_line(value)

    def json_line(self, value: object) -> None:
        """Print a JSON value in any case."""
        import msgspec

        if not self.silent:
            _write(single_line(msgspec.json.encode(value)))

    def text(self, text: str) -> None:
        """Print one line for a person. Whatever names and code hold, it stays one line and moves no cursor."""
        if not self.json and not self.silent:
            _write(one_line(text).encode())

    def styled(self, *parts: tuple[str, str]) -> None:
        """Print one line of texts with their styles: on a terminal in colour, unless NO_COLOR is set, and cut to its width."""
        plain = "".join(text for text, _ in parts)
        console = self.console() if _is_terminal(sys.stdout) and not self.silent else None
        if console is None or console.legacy_windows:
            self.text(plain)
            return
        from rich.text import Text

        with console.capture() as shown:
            console.print(Text.assemble(*((one_line(text), style) for text, style in parts)), no_wrap=True, overflow="ellipsis")
        _write(shown.get().encode(), end=b"")

    def gap(self) -> None:
        """Print a blank line where a person looks on."""
        if _is_terminal(sys.stdout) and not self.silent:
            _write(b"")

    def whole(self, text: str) -> None:
        """Print a text of many lines: byte for byte into a file or a pipe, harmless on a terminal."""
        shown = harmless(text) if _is_terminal(sys.stdout) else text
        _write(shown.encode(errors="surrogateescape"))

    def piece(self, text: str) -> None:
        """Print a part of a text as it comes, harmless on a terminal."""
        shown = harmless(text) if _is_terminal(sys.stdout) else text
        _write(shown.encode(errors="replace"), end=b"")

    @property
    def is_watched(self) -> bool:
        """Tell whether a person sees what is told beside the result as it comes."""
        return _is_terminal(sys.stderr)

    def note(self, text: str) -> None:
        """Tell the person something beside the result."""
        if not self.json and not self.silent:
            _tell(text)

    def warn(self, text: str) -> None:
        """Tell the person what is wrong though there is a result, also beside a JSON one."""
        if not self.silent:
            _tell(text)

    def fail(self, message: str) -> None:
        """Say why there is no result."""
        _tell(f"carrel: {message}")
        self.value({"error": one_line(message)})

    def usage(self, text: str) -> None:
        """Show how a command is written."""
        for line in lines_of(text):
            self.note(line)

    def console(self) -> Console:
        """Give a console for results; colours only on a terminal, full width when piped."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=not _is_terminal(sys.stdout))

    @contextmanager
    def progress(self, title: str, *, unit: str = "files", shows_text: bool = False) -> Iterator[Progress]:
        """Show how many are done of how many on standard error: a bar on a terminal, a line every few seconds elsewhere.

        `unit` is what the caller counts. With `shows_text` also what is told beside them, which otherwise is the path.
        """
        if self.json or self.silent:
            yield lambda _done, _total, _path: None
        elif _is_terminal(sys.stderr):
            yield from _bar(one_line(title), unit, shows_text=shows_text)
        else:
            yield _lines(title, unit, shows_text=shows_text)

    def progress_lines(self, title: str) -> Progress:
        """Give what shows progress by a line every few seconds, for work that seldom takes that long."""
        return (lambda _done, _total, _path: None) if self.json else _lines(title, "files", shows_text=False)


def _write(data: bytes, end: bytes = b"\n") -> None:
    stream = _results or sys.stdout
    if stream is None:
        raise OutputFailed("it is closed")
    try:
        stream.buffer.write(data + end)
        stream.buffer.flush()
    except OSError as error:
        # Python must not complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if isinstance(error, BrokenPipeError):
            raise OutputClosed from None
        raise OutputFailed(error.strerror or str(error)) from None


def _tell(text: str) -> None:
    """Print a line on standard error; nobody may be there to read it, which is no reason to fail."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(one_line(text), file=sys.stderr, flush=True)  # noqa: T201


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _bar(title: str, unit: str, *, shows_text: bool) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def report(done: int, total: int, text: str) -> None:
            described = f"{title} ({one_line(text)})" if shows_text and text else title
            bar.update(task, completed=done, total=total or None, description=described)

        yield report


def _lines(title: str, unit: str, *, shows_text: bool, every_s: float = 5.0) -> Progress:
    last = time.monotonic()

    def report(done: int, total: int, text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= every_s:
            last = time.monotonic()
            _tell(f"{title}: {done:,} of {total:,} {unit}" + (f", {text}" if shows_text and text else ""))

    return report


# Joiners and selectors of variants belong to emoji and to scripts such as Arabic and Devanagari; beside a Latin letter, or after
# another, they only make two names look the same. `#` with a selector may be a keycap, and so may a digit.
_LATIN = "\x00-\xa8\xaa-\xad\xaf-\u02ff"
_JOINERS, _SELECTORS = "\u200c\u200d", "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# C0 and C1 but the tab, bidirectional controls, line and paragraph separators, halves of characters; signs without a width, tags,
# fillers.
_OBEYED = lazy_pattern(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
    f"|(?<![^{_LATIN}{_JOINERS}])[{_JOINERS}]|[{_JOINERS}](?![^{_LATIN}])"
    f"|(?<![^{_LATIN}{_JOINERS}{_SELECTORS}])[{_SELECTORS}](?!\u20e3)"
)


def one_line(text: str) -> str:
    """Put the text on one line, with all that a terminal would obey shown as an escape."""
    return _OBEYED.sub(_escape, text)


def harmless(text: str) -> str:
    """Return a text of several lines with all that a terminal would obey shown as an escape."""
    return "\n".join(one_line(line) for line in LINE_END.split(text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def is_text(value: str) -> bool:
    """Return false for what the system gave as bytes that are not UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def folder(path: Path) -> Path:
    """Return an existing folder that can be read, absolute; raises `InvalidInput` or `CarrelError`."""
    absolute = absolute_path(path)
    if not absolute.is_dir():
        raise InvalidInput("path", f"{absolute} is not a folder")
    if not is_text(str(absolute)):
        raise InvalidInput("path", f"{absolute} is not UTF-8, so its files can't be named to an editor", "Rename it.")
    if reason := unreadable(absolute):
        raise CarrelError(f"{absolute} can't be read: {reason}", "Give yourself the right to read it.")
    return absolute


def absolute_path(path: Path) -> Path:
    """Return a path as it was named, links included; but `..` would stand in every URI that is made of it."""
    absolute = path.absolute()
    return absolute.resolve() if ".." in absolute.parts else absolute


def unreadable(folder: Path) -> str | None:
    """Return why the entries of a folder can't be listed and looked at; None if they can."""
    try:
        with os.scandir(folder):
            (folder / ".git").lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    return None

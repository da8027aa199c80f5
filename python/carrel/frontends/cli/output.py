"""Where output goes: one result on standard output, all else on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich costs 50 ms, and the compiled module may be missing: `carrel doctor` then says so
    from rich.console import Console

    from carrel.core.ports import Progress


@dataclass(frozen=True, slots=True)
class Output:
    """Prints results and failures in the form that was asked for."""

    json: bool = False

    def value(self, value: object) -> None:
        """Print the one JSON value; `value` is a wire struct or plain data."""
        import msgspec

        sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
        sys.stdout.buffer.flush()

    def text(self, text: str) -> None:
        """Print text as it is (code may hold what a terminal library takes for markup)."""
        sys.stdout.buffer.write(text.encode(errors="surrogateescape") + b"\n")
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """Tell the person something beside the result."""
        if not self.json:
            print(text, file=sys.stderr)  # noqa: T201

    def warn(self, text: str) -> None:
        """Tell the person what is wrong though there is a result, also beside a JSON one."""
        print(text, file=sys.stderr)  # noqa: T201

    def fail(self, message: str) -> None:
        """Say why there is no result."""
        if self.json:
            self.value({"error": message})
        print(f"carrel: {message}", file=sys.stderr)  # noqa: T201

    def console(self) -> Console:
        """Give a console for results; colours only on a terminal, full width when piped."""
        from rich.console import Console

        return Console(highlight=False, soft_wrap=not sys.stdout.isatty())

    @contextmanager
    def progress(self, title: str) -> Iterator[Progress]:
        """Show files done of files in all on standard error: a bar on a terminal, a line every few seconds elsewhere."""
        if self.json:
            yield lambda _done, _total, _path: None
        elif sys.stderr.isatty():
            yield from _bar(title)
        else:
            yield _lines(title)


def _bar(title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def report(done: int, total: int, _path: str) -> None:
            bar.update(task, completed=done, total=total or None)

        yield report


def _lines(title: str, every_s: float = 5.0) -> Progress:
    last = time.monotonic()

    def report(done: int, total: int, _path: str) -> None:
        nonlocal last
        if time.monotonic() - last >= every_s:
            last = time.monotonic()
            print(f"{title}: {done:,} of {total:,} files", file=sys.stderr)  # noqa: T201

    return report

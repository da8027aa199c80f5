"""Run `carrel demo`: start the real server as an editor does, index a folder, send a chat request, show what went in front of it.

Without a folder it indexes a well-known package, the same for everyone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.box import ROUNDED
from rich.console import Console, Group
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from carrel.frontends.cli.terminal import folder, one_line
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.frontends.common.lsp_client import LspClient, LspError
from carrel.model.errors import Cancelled, CarrelError
from carrel.model.lines import LINE_END
from carrel.model.patterns import lazy_pattern
from carrel.model.wording import counted
from carrel.system.filesystem import private_folder

if TYPE_CHECKING:
    from carrel.frontends.cli.terminal import Output


_PICTURE_WIDTH, _PLAIN_WIDTH = 118, 100
_SHOWN_LINES = 9
_TOKENS = 1_500
_BLOCK = lazy_pattern(r'<code_context file="(?P<file>[^"]*)"')


def save_picture(console: Console, file: Path, title: str) -> None:
    """Write what a console recorded as SVG. Raises `CarrelError` where the file can't be written.

    It names no web font, as rich's pictures do: a page must not need the network, and every system has a monospace font.
    """
    form = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")
    try:
        console.save_svg(str(file), title=title, code_format=form)
    except OSError as error:
        raise CarrelError(f"{file} can't be written: {error.strerror}", "Name a file in a folder that can be.") from None


class View:
    """Shows each step of the conversation as it happens."""

    def __init__(self, picture: Path | None) -> None:
        width = _PICTURE_WIDTH if picture else None if sys.stdout.isatty() else _PLAIN_WIDTH
        self._console = Console(record=picture is not None, width=width, highlight=False)
        self._picture = picture

    def note(self, text: str) -> None:
        """Say something beside the steps."""
        self._console.print(Text(one_line(text), style="yellow"))

    def show_start(self, command: Sequence[str], server: dict[str, Any], ms: float) -> None:
        """Show that the server answered `initialize`."""
        name = f"{server.get('name', 'carrel')} {server.get('version', '')}".strip()
        shown = " ".join(["python", *command[1:]])
        self._step(
            1, "An editor starts the server", Text.assemble((shown, "cyan"), f"  →  {name} answers initialize in {ms:.0f} ms")
        )

    @contextmanager
    def bar(self, name: str) -> Iterator[Callable[[float, str], None]]:
        """Show the server's progress while it indexes."""
        columns = (TextColumn("   indexing {task.description}", markup=False), BarColumn(), TextColumn("{task.fields[files]}"))
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bar:
            task = bar.add_task(one_line(name), total=100, files="")
            yield lambda share, text: bar.update(task, completed=share, files=text)

    def show_index(self, root: Path, report: dict[str, Any], status: dict[str, Any]) -> None:
        """Show that the index is there."""
        languages = sorted(status["languages"].items(), key=lambda item: -item[1])[:3]
        seconds = report["elapsedMs"] / 1000
        size = f"{counted(status['chunks'], 'chunk')}, {status['bytes'] / 1e6:.1f} MB on disk"
        facts = f"{one_line(root.name)}: {counted(status['files'], 'file')} in {seconds:.2f} s, {size}"
        self._step(
            2, "It indexes the workspace", Text.assemble(facts, (f"  ({', '.join(f'{n} {c:,}' for n, c in languages)})", "dim"))
        )

    def show_question(self, question: str) -> None:
        """Show that the person sends a chat message."""
        self._step(3, "A person asks in the chat", Text(one_line(question), style="italic cyan"))

    def show_answer(self, augmented: dict[str, Any], stages: dict[str, float], first_ms: float, again_ms: float) -> None:
        """Show what goes to the model, where it is from and what it cost."""
        pack = augmented["pack"]
        tokens = f"{pack['tokens']:,} of {counted(pack['budgetTokens'], 'token')} from {counted(len(pack['hits']), 'place')}"
        timing = f" in {first_ms:.0f} ms, asked again in {again_ms:.0f} ms"
        self._step(4, "Carrel puts the right pages in front", Text.assemble((tokens, "bold green"), timing))
        self._console.print(self._hits(pack["hits"]))
        self._console.print(self._message(augmented["text"], augmented["original"]))
        parts = "  ".join(f"{name} {ms:.1f}" for name, ms in stages.items())
        self._console.print(Text(f"   milliseconds by stage, asked again:  {parts}", style="dim"))

    def close(self) -> None:
        """Write the picture if one was asked for."""
        if self._picture:
            save_picture(self._console, self._picture, "carrel demo")

    def _step(self, number: int, title: str, detail: Text) -> None:
        self._console.print()
        self._console.print(Text.assemble((f" {number} ", "bold white on blue"), (f" {title}", "bold")))
        self._console.print(Text.assemble("   ", detail))

    def _hits(self, hits: Sequence[dict[str, Any]]) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
        table.add_column("", width=1)
        table.add_column("relevance", justify="right", no_wrap=True, min_width=9)
        table.add_column("place", overflow="ellipsis", no_wrap=True, style="cyan")
        table.add_column("symbol", overflow="ellipsis", no_wrap=True)
        table.add_column("because of", overflow="ellipsis", no_wrap=True, style="dim", max_width=24)
        for hit in hits:
            place = f"{hit['path']}:{hit['startLine']}-{hit['endLine']}"
            cells = (place, hit.get("symbol", ""), " ".join(hit["signals"]["matched"]))
            # As `Text`: rich would take `[red]` in a name for its own markup.
            table.add_row("", f"{hit['score']:.2f}", *(Text(one_line(cell)) for cell in cells))
        return table

    def _message(self, text: str, original: str) -> Panel:
        """Show the message as the model gets it: the first block whole or nearly, the other blocks' heads, the person's words."""
        context = text.removesuffix(original).rstrip()
        context, original = ("\n".join(one_line(line) for line in LINE_END.split(part)) for part in (context, original))
        parts: list[Any] = []
        for number, block in enumerate(re.split(r"(?=<code_context )", context)):
            lines = block.rstrip().split("\n")
            head, body = lines[:1], lines[1:]
            file = _BLOCK.match(block)
            parts.append(Text("\n".join(head), style="magenta"))
            if file is None:
                continue
            shown = body if number == 1 else []
            ending = [line for line in body if line.startswith(("</code_context", "</rag_context"))]
            shown = [line for line in shown if line not in ending][:_SHOWN_LINES]
            if shown:
                lexer = Syntax.guess_lexer(file["file"], "\n".join(shown))
                parts.append(Syntax("\n".join(shown), lexer, theme="ansi_dark", background_color="default", word_wrap=True))
            if hidden := len(body) - len(ending) - len(shown):
                parts.append(Text(f"    … {hidden} lines", style="dim"))
            parts.append(Text("\n".join(ending), style="magenta"))
        parts += [Text(), Text(original, style="italic cyan")]
        return Panel(Group(*parts), title="what the model gets", title_align="left", border_style="blue", box=ROUNDED)


NAME, VERSION = "django", "5.2.8"
PACKAGE_QUESTION = "where is the CSRF token checked on a POST request?"
LIBRARY_QUESTION = "how is a redirect followed when a URL is opened?"
_REQUIREMENT = f"{NAME}=={VERSION} --hash=sha256:37e687f7bd73ddf043e2b6b97cfe02fcbb11f2dbb3adccc6a2b18c6daa054d7f\n"


def package(note: Callable[[str], None]) -> tuple[Path, str]:
    """Give the package's folder in the user's cache, got from PyPI once, and a question; without a network, Python's own library.

    A wheel holds the sources as they are and, unlike a source archive, is unpacked without running anything of it.
    """
    from platformdirs import user_cache_path

    target = user_cache_path("carrel", appauthor=False) / "demo" / f"{NAME}-{VERSION}"
    if target.is_dir():
        return target, PACKAGE_QUESTION
    began = time.perf_counter()
    note(f"Getting {NAME} {VERSION} from PyPI, to have something to index …")
    try:
        private_folder(target.parent)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            unpacked = _download(Path(scratch))
            unpacked.rename(target)
    except (OSError, subprocess.SubprocessError, zipfile.BadZipFile):
        library = Path(sysconfig.get_path("stdlib"))
        note(f"{NAME} can't be had (no network, or no pip here?); Python's own library at {library} is indexed instead.")
        return library, LIBRARY_QUESTION
    note(f"Got it in {time.perf_counter() - began:.1f} s; it is kept in {target}")
    return target, PACKAGE_QUESTION


def _download(scratch: Path) -> Path:
    requirement = scratch / "requirement.txt"
    requirement.write_text(_REQUIREMENT)
    options = (
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--require-hashes",
        "--requirement",
        str(requirement),
        "--dest",
        str(scratch),
        "--retries=1",  # without a network there is something else to index
        "--timeout=10",
    )
    pip = (sys.executable, "-m", "pip", "download", *options)
    subprocess.run(pip, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=120)  # noqa: S603 - our own interpreter
    unpacked = scratch / "unpacked"
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as archive:
        archive.extractall(unpacked)
    return unpacked


SERVER = (sys.executable, "-m", "carrel", "serve", "--stdio")
FOLDER_QUESTION = "where does the program start, and how is it configured?"


def run(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Run the demo and show each step."""
    view = View(arguments.svg)
    with told_of_interrupts(_cancel):  # what is half downloaded goes
        root, question = (folder(arguments.path), FOLDER_QUESTION) if arguments.path else package(view.note)
    question = arguments.question or question
    try:
        with tempfile.TemporaryDirectory(prefix="carrel-demo-", ignore_cleanup_errors=True) as scratch:
            run_cancellable(_talk(view, root, question, {"ragEnabled": True, "cacheFolder": scratch}))
    except (LspError, ConnectionError, TimeoutError) as error:
        raise CarrelError(
            f"The server failed ({error})", "`carrel doctor` may say why; CARREL_DEMO_LOG=1 shows its log."
        ) from None
    view.close()
    return 0


def _cancel() -> None:
    raise Cancelled


async def _talk(view: View, root: Path, question: str, options: dict[str, Any]) -> None:
    """Say to the server what an editor says, in the same order."""
    log = None if os.environ.get("CARREL_DEMO_LOG") else subprocess.DEVNULL
    began = time.perf_counter()
    client = await LspClient.spawn(SERVER, stderr=log)
    try:
        answer = await client.initialize(root, options=options)
        view.show_start(SERVER, answer.get("serverInfo", {}), _ms(began))

        with view.bar(root.name) as advance:
            client.on_notification = _on_progress(advance)
            report = await client.request("carrel/index", {"workDoneToken": "demo"}, timeout=3600)
            client.on_notification = lambda *_: None
        view.show_index(root, report, await client.request("carrel/status", {}))

        request = {"text": question, "query": question, "budget": {"tokens": _TOKENS}}
        view.show_question(question)
        sent = time.perf_counter()
        augmented = await client.request("carrel/augment", request)
        first = _ms(sent)
        if error := augmented["pack"].get("error"):
            raise CarrelError(error)
        sent = time.perf_counter()
        again = await client.request("carrel/augment", request)
        view.show_answer(augmented, again["pack"]["stages"], first, _ms(sent))
        await client.stop()
    finally:
        await client.kill()


def _on_progress(show: Callable[[float, str], None]) -> Callable[[str, Any], None]:
    def note(method: str, params: Any) -> None:
        if method == "$/progress" and isinstance(value := params.get("value"), dict) and value.get("kind") == "report":
            show(value.get("percentage", 0), value.get("message", ""))

    return note


def _ms(since: float) -> float:
    return 1000 * (time.perf_counter() - since)

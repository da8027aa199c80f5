"""`carrel demo`: start the real server as an editor does, index a folder, send a chat request, show what it got."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrel.core.errors import Cancelled, CarrelError
from carrel.frontends.cli.local import folder
from carrel.frontends.lsp_client import LspClient, LspError

if TYPE_CHECKING:
    from rich.console import Console

    from carrel.frontends.cli.output import Output

PACKAGE, VERSION = "django", "5.2.8"
QUESTION = "how does the ORM turn a queryset filter into SQL?"
_SHOWN_LINES = 26


def run(arguments: Namespace, output: Output) -> int:  # noqa: ARG001 - every command has this shape
    """Run the demo and show each step."""
    from rich.console import Console

    console = Console(record=arguments.svg is not None, width=118 if arguments.svg else None, highlight=False)
    root = folder(arguments.path) if arguments.path else _package(console)
    question = arguments.question or QUESTION
    try:
        with tempfile.TemporaryDirectory(prefix="carrel-demo-", ignore_cleanup_errors=True) as scratch:
            cache = {"XDG_CACHE_HOME": scratch, "LOCALAPPDATA": scratch} if arguments.fresh else {}
            asyncio.run(_show(console, root, question, arguments.tokens, cache))
    except KeyboardInterrupt:
        raise Cancelled from None
    except (LspError, ConnectionError) as error:
        raise CarrelError(f"The server failed: {error}. `carrel doctor` may say why.") from None
    if arguments.svg:
        console.save_svg(str(arguments.svg), title="carrel demo")
    return 0


def _package(console: Console) -> Path:
    """A well-known package to index: from the registry, kept in the user's cache; else this Python's own library."""
    from platformdirs import user_cache_path

    target = user_cache_path("carrel") / "demo" / f"{PACKAGE}-{VERSION}"
    if target.is_dir():
        return target
    console.print(f"Getting {PACKAGE} {VERSION} from PyPI, to have something to index …")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", scratch]
        done = subprocess.run([*pip, f"{PACKAGE}=={VERSION}"], stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - our own interpreter
        wheel = next(Path(scratch).glob("*.whl"), None)
        if done.returncode or wheel is None:
            library = Path(sysconfig.get_path("stdlib"))
            console.print(f"[yellow]{PACKAGE} can't be had (no network?); indexing Python's own library at {library} instead.[/]")
            return library
        unpacked = Path(scratch) / "unpacked"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        unpacked.rename(target)
    return target


async def _show(console: Console, root: Path, question: str, tokens: int, environment: dict[str, str]) -> None:
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    began = time.perf_counter()
    client = await LspClient.spawn(env=environment, stderr=None if os.environ.get("CARREL_DEMO_LOG") else subprocess.DEVNULL)
    try:
        await client.initialize(root, options={"ragEnabled": True})
        console.print(f"[bold]1[/] The server runs: it answered [cyan]initialize[/] after {_ms(began)}.")

        report = await _index(console, client, root)
        status = await client.request("carrel/status", {})
        languages = sorted(status["languages"].items(), key=lambda item: -item[1])[:4]
        console.print(
            f"[bold]2[/] It indexed [bold]{root.name}[/]: {status['files']:,} files, {report['chunks']:,} chunks in "
            f"{report['elapsedMs'] / 1000:.2f} s, {status['bytes'] / 1e6:.1f} MB on disk "
            f"({', '.join(f'{name} {count:,}' for name, count in languages)})."
        )

        console.print(f"[bold]3[/] A chat request: [italic]{question}[/]")
        sent = time.perf_counter()
        answer = await client.request("carrel/augment", {"text": question, "query": question, "budget": {"tokens": tokens}})
        took = _ms(sent)
        pack = answer["pack"]
        if pack.get("error"):
            raise CarrelError(pack["error"])
        console.print(
            f"[bold]4[/] In front of it went [bold]{pack['tokens']:,}[/] of {tokens:,} tokens from "
            f"{len(pack['hits'])} places, after {took}:"
        )
        table = Table(box=None, padding=(0, 2, 0, 3))
        for heading in ("file", "lines", "symbol", "relevance", "matched words"):
            table.add_column(heading, style="dim" if heading == "matched words" else "", overflow="fold")
        for hit in pack["hits"]:
            lines = f"{hit['startLine']}-{hit['endLine']}"
            table.add_row(hit["path"], lines, hit.get("symbol", ""), f"{hit['score']:.2f}", " ".join(hit["signals"]["matched"]))
        console.print(table)
        lines = answer["text"].splitlines()
        shown = "\n".join(lines[:_SHOWN_LINES])
        rest = f"\n… {len(lines) - _SHOWN_LINES - 2} lines more …\n\n{lines[-1]}" if len(lines) > _SHOWN_LINES + 2 else ""
        console.print(Panel(Text(shown + rest), title="what the model gets", border_style="cyan"))
        stages = ", ".join(f"{name} {value:.1f}" for name, value in pack["stages"].items())
        console.print(f"   [dim]milliseconds: {stages}[/]")
        await client.stop()
    finally:
        await client.kill()


async def _index(console: Console, client: LspClient, root: Path) -> dict[str, Any]:
    """Index with a bar that follows the server's `$/progress`."""
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("  Indexing"), BarColumn(), TextColumn("{task.fields[files]}"), console=console, transient=True
    ) as bar:
        task = bar.add_task(root.name, total=100, files="")
        client.on_notification = _on_progress(lambda share, text: bar.update(task, completed=share, files=text))
        report: dict[str, Any] = await client.request("carrel/index", {"workDoneToken": "demo"}, timeout=600)
        client.on_notification = lambda *_: None
    return report


def _on_progress(show: Callable[[float, str], None]) -> Callable[[str, Any], None]:
    def note(method: str, params: Any) -> None:
        if method == "$/progress" and isinstance(value := params.get("value"), dict) and value.get("kind") == "report":
            show(value.get("percentage", 0), value.get("message", ""))

    return note


def _ms(since: float) -> str:
    return f"{1000 * (time.perf_counter() - since):.0f} ms"

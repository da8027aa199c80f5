"""Run `carrel demo`: start the real server as an editor does, index a folder, send a chat request, show what went in front of it.

Without a folder it indexes a well-known package, the same for everyone.
"""

from __future__ import annotations

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

from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.common.event_loop import run_cancellable
from carrel.frontends.common.interrupts import told_of_interrupts
from carrel.frontends.common.lsp_client import LspClient, LspError
from carrel.model.errors import Cancelled, CarrelError

if TYPE_CHECKING:
    from carrel.frontends.cli.demo.demo_view import View
    from carrel.frontends.cli.terminal.output import Output


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
        target.parent.mkdir(parents=True, exist_ok=True)
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
    from carrel.frontends.cli.demo.demo_view import View

    view = View(arguments.svg)
    with told_of_interrupts(_cancel):  # what is half downloaded goes
        root, question = (folder(arguments.path), FOLDER_QUESTION) if arguments.path else package(view.note)
    question = arguments.question or question
    try:
        with tempfile.TemporaryDirectory(prefix="carrel-demo-", ignore_cleanup_errors=True) as scratch:
            options = {"ragEnabled": True, **({"cacheFolder": scratch} if arguments.fresh else {})}
            run_cancellable(_talk(view, root, question, arguments.tokens, options))
    except (LspError, ConnectionError, TimeoutError) as error:
        raise CarrelError(
            f"The server failed ({error})", "`carrel doctor` may say why; CARREL_DEMO_LOG=1 shows its log."
        ) from None
    view.close()
    return 0


def _cancel() -> None:
    raise Cancelled


async def _talk(view: View, root: Path, question: str, tokens: int, options: dict[str, Any]) -> None:
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

        request = {"text": question, "query": question, "budget": {"tokens": tokens}}
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

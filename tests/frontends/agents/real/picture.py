"""Draw a prompt's context in Claude Code: `python -m tests.frontends.agents.real.picture FOLDER QUESTION WORDS FILE.svg`.

The real program runs in a terminal, with the hook that `carrel agents install` writes; a stand-in of its API answers WORDS.
It needs `pip install pyte`, and CARREL_TEST_AGENTS as `make test-long` sets it.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import pyte  # type: ignore[import-not-found]
from rich.console import Console
from rich.style import Style
from rich.text import Text
from tests.frontends.agents.real import stand_in_api
from tests.frontends.agents.real.cases import CASES, PROGRAMS, STAND_IN

from carrel.frontends.cli.demo import save_picture

WIDTH, HEIGHT = 96, 20
KEY = "stand-in-stand-in-stand-in"
LIKE = str.maketrans("\u23bf\u23f5", "\u2514\u25b8")
"""Signs that many monospace fonts lack, and others like them."""


class Terminal:
    """A program in a terminal, and its screen."""

    def __init__(self, program: str, folder: Path, env: dict[str, str]) -> None:
        self.screen = pyte.Screen(WIDTH, HEIGHT)
        self._stream = pyte.ByteStream(self.screen)
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.chdir(folder)
            os.execve(program, [program], env)  # noqa: S606 - a shell would only be in the way
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))

    def see(self, wanted: str, seconds: float = 30) -> None:
        """Read until the screen shows this, and then is still for a second."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self._terminal], [], [], 1)[0]:
                self._stream.feed(os.read(self._terminal, 65536))
            elif wanted in "\n".join(self.screen.display):
                return
        sys.exit(f"The screen doesn't show {wanted!r}:\n" + "\n".join(self.screen.display))

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> None:
        """Let the program end if it was told to, else end it."""
        with contextlib.suppress(OSError):  # its end of the terminal is closed
            while select.select([self._terminal], [], [], 2)[0] and os.read(self._terminal, 65536):
                pass
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


def main(folder: Path, question: str, words: str, file: Path) -> None:
    stand_in_api.WORDS = words
    with tempfile.TemporaryDirectory() as scratch, stand_in_api.standing_in() as api:
        home, case = Path(scratch), CASES["claude-code"]
        env = {
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **{name: value.replace(STAND_IN, api.url) for name, value in case.env.items()},
            "ANTHROPIC_API_KEY": KEY,
        }
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        settings = {"hasCompletedOnboarding": True, "theme": "dark", "projects": {str(folder): known}}
        settings |= {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}}
        (home / ".claude.json").write_text(json.dumps(settings))
        for arguments in (["index", str(folder)], ["agents", "install", "claude-code", "--yes"]):
            subprocess.run([sys.executable, "-m", "carrel", *arguments], env=env, check=True)
        program = str(PROGRAMS / case.program)
        with contextlib.closing(io.StringIO()) as nowhere:
            first = Terminal(program, folder, env)  # it tells news of its own at the first start
            first.see("\u276f")
            first.type("/exit")
            first.see("/exit")
            first.type("\r")
            first.end()
            terminal = Terminal(program, folder, env)
            terminal.see("\u276f")
            terminal.type(question)
            terminal.see(question)
            terminal.type("\r")
            terminal.see(words[:20])
            terminal.end()
            console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
            for row in range(HEIGHT):
                cells = groupby((terminal.screen.buffer[row][at] for at in range(WIDTH)), _style)
                parts = [("".join(cell.data for cell in run), style) for style, run in cells]
                console.print(Text.assemble(*((text.translate(LIKE), style) for text, style in parts)), soft_wrap=True)
            save_picture(console, file, "claude")


def _style(cell: Any) -> Style:
    front, back = (None if name == "default" else _color(name) for name in (cell.fg, cell.bg))
    return Style(color=front, bgcolor=back, bold=cell.bold, italic=cell.italics, reverse=cell.reverse)


def _color(name: str) -> str:
    """Name a terminal's color as rich does."""
    is_number = len(name) == 6 and all(sign in "0123456789abcdef" for sign in name)
    return f"#{name}" if is_number else "yellow" if name == "brown" else name.replace("bright", "bright_")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3], Path(sys.argv[4]))

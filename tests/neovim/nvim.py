"""A headless Neovim that runs Lua on demand and gives back what it returned."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil  # type: ignore[import-untyped]
from tests.waiting import wait_until

PLUGIN = Path(__file__).parents[2] / "editors" / "neovim"

# What a person would see and be asked is kept in globals; `choose` and `answer` are what the person does.
RECORD = """
_G.notes, _G.asked, _G.choose, _G.answer = {}, {}, nil, nil
vim.notify = function(text, level) notes[#notes + 1] = { text = text, level = level or 2 } end
vim.notify_once = function(text, level)
  for _, note in ipairs(notes) do if note.text == text then return end end
  vim.notify(text, level)
end
vim.ui.select = function(items, options, use)
  local labels = vim.tbl_map(options.format_item or tostring, items)
  asked[#asked + 1] = { prompt = options.prompt, items = labels }
  if choose then use(items[choose], choose) else use(nil) end
end
vim.ui.input = function(options, use) asked[#asked + 1] = { prompt = options.prompt }; use(answer) end
-- A deprecated call is a failure, on the versions that know of it.
_G.deprecated = {}
local deprecate = vim.deprecate
if deprecate then
  vim.deprecate = function(name, ...) deprecated[#deprecated + 1] = name; return deprecate(name, ...) end
end
"""

CALL = """
local ok, result = pcall(function(args) {code}
end, vim.json.decode((...)))
if not ok then result = tostring(result) end
if result == nil then result = vim.NIL end
return vim.json.encode({{ ok = ok, result = result }})
"""


def binaries() -> list[str]:
    """The Neovims to test with: those in CARREL_TEST_NVIM (separated as in PATH, the newest last), else the one on PATH."""
    named = os.environ.get("CARREL_TEST_NVIM", "nvim").split(os.pathsep)
    return [found for name in named if name and (found := shutil.which(name))]


def version(binary: str) -> str:
    """`nvim-0.11.4`; the name itself where it can't be run."""
    if not shutil.which(binary):
        return binary
    first = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.split("\n", 1)[0]
    return first.lower().replace(" v", "-")


class LuaError(AssertionError):
    """The Lua code failed."""


class Neovim:
    """One editor process."""

    def __init__(self, binary: str, cwd: Path, env: Mapping[str, str], runtime: tuple[Path, ...] = ()) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="nv"))  # a socket's path must be short
        self._socket = self._folder / "s"
        record = self._folder / "record.lua"
        record.write_text(RECORD, "utf-8")
        paths = ",".join(str(path) for path in (PLUGIN, *runtime))
        first = ("--cmd", f"set runtimepath^={paths}", "--cmd", "set noswapfile", "--cmd", f"luafile {record}")
        self.process = subprocess.Popen(
            [binary, "--clean", "--headless", "--listen", str(self._socket), *first],
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._connection = socket.socket(socket.AF_UNIX)  # a program per call would take most of the tests' time
        self._connection.settimeout(30)
        try:
            wait_until(self._is_connected)
        except BaseException:
            self._connection.close()
            self.process.kill()
            self.process.wait()
            raise

    def _is_connected(self) -> bool:
        """Tell whether it listens now: the socket is there a moment before it does."""
        assert self.process.poll() is None, "nvim ended at once"
        try:
            self._connection.connect(str(self._socket))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        return True

    def lua(self, code: str, *args: Any) -> Any:
        """Run a Lua function body; `args` is the list of arguments. Gives what it returns."""
        error, result = self._request("nvim_exec_lua", CALL.format(code=code), [json.dumps(args)])
        if error:
            raise LuaError(str(error))
        answer = json.loads(result)
        if not answer["ok"]:
            raise LuaError(answer["result"])
        return answer["result"]

    def _request(self, method: str, *params: Any) -> tuple[Any, Any]:
        """Call a function of its API; gives the error and the result."""
        try:
            self._connection.sendall(msgspec.msgpack.encode([0, 1, method, params]))
            received = b""
            while True:
                if not (piece := self._connection.recv(1 << 20)):
                    raise LuaError("nvim ended")
                received += piece
                with contextlib.suppress(msgspec.DecodeError):  # the rest is still to come
                    _, _, error, result = msgspec.msgpack.decode(received)
                    return error, result
        except OSError as failure:
            raise LuaError(f"nvim doesn't answer: {failure}") from failure

    def wait(self, code: str, *args: Any, seconds: float = 30) -> Any:
        """Run Lua again and again until it returns something that is neither nil, false, 0 nor empty."""
        until = time.monotonic() + seconds
        while True:
            if result := self.lua(code, *args):
                return result
            if time.monotonic() > until:
                raise LuaError(f"never happened: {code}; notes: {self.notes()}")
            time.sleep(0.03)

    def command(self, line: str) -> None:
        """Run an Ex command."""
        self.lua("vim.cmd(args[1])", line)

    def notes(self) -> list[str]:
        """What the person was told so far."""
        return [note["text"] for note in self.lua("return notes") or ()]

    def wait_note(self, words: str, *, seconds: float = 30) -> str:
        """Wait until the person is told something that contains `words`."""
        code = "for _, note in ipairs(notes) do if note.text:find(args[1], 1, true) then return note.text end end"
        return str(self.wait(code, words, seconds=seconds))

    def index(self) -> None:
        """Have the project indexed for the first time."""
        self.command("Carrel index")
        self.wait_note("added")

    def text(self) -> str:
        """The text of the current buffer."""
        return "\n".join(self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))

    def server_pids(self) -> list[int]:
        """The servers that this editor started and that still run."""
        editor = psutil.Process(self.process.pid)
        # A child that was forked and not yet replaced still has the editor's own command line, which names the plugin.
        own = _cmdline(editor)
        lines = ((child.pid, _cmdline(child)) for child in editor.children())
        return [pid for pid, line in lines if line != own and "carrel" in " ".join(line)]

    def close(self) -> int:
        """Quit as a person would; gives the exit code."""
        with contextlib.suppress(LuaError):  # it may end before it answers
            self._request("nvim_input", "<C-\\><C-N>:qall!<CR>")
        try:
            return self.process.wait(20)
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, and leave nothing."""
        self._connection.close()
        self.process.kill()
        self.process.wait(20)
        shutil.rmtree(self._folder, ignore_errors=True)


def _cmdline(process: Any) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it ended meanwhile
        return []

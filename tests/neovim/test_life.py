"""From the first file to the end of the server, and what goes wrong between."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from tests.neovim.conftest import FILES, Edit
from tests.neovim.nvim import Neovim
from tests.shop import write_many

pytestmark = pytest.mark.every_neovim  # clients of language servers changed with each version
READY = "for _, ready in pairs(require('carrel.server').list()) do return ready end"


# The plugin's restarts are kept in a global, for the test to run them.
HOLD_RESTARTS = """
_G.restarts = {}
local defer = vim.defer_fn
vim.defer_fn = function(work, delay)
  if not debug.getinfo(work, 'S').source:find('carrel/server.lua', 1, true) then return defer(work, delay) end
  restarts[#restarts + 1] = work
end
"""


def kill_server(nvim: Neovim) -> int:
    (pid,) = nvim.server_pids()
    os.kill(pid, signal.SIGKILL)
    return pid


def test_nothing_starts_before_a_file_of_a_project_is_opened(edit: Edit, tmp_path: Path) -> None:
    loose = tmp_path / "loose.txt"
    loose.write_text("in no project\n")
    nvim = edit()
    nvim.command(f"edit {loose}")
    nvim.command("enew | terminal true")
    assert nvim.server_pids() == []
    nvim.command("edit src/auth.py")
    nvim.wait(READY)
    assert len(nvim.server_pids()) == 1


def test_autostart_can_be_off(edit: Edit) -> None:
    nvim = edit(file="src/auth.py", autostart=False)
    assert nvim.server_pids() == []
    nvim.command("Carrel index")
    nvim.wait_note("4 added")


def test_setup_after_the_first_file_attaches_it(edit: Edit, project: Path) -> None:
    nvim = edit(file="src/auth.py", autostart=False)
    nvim.lua("require('carrel').setup(args[1])", {"cmd": [sys.executable, "-m", "carrel", "serve"]})
    nvim.wait(READY)
    nvim.wait("local id = vim.lsp.buf_get_clients and next(vim.lsp.buf_get_clients(0)); deprecated = {}; return id ~= nil")


def test_two_projects_have_a_server_each(edit: Edit, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "moon.py").write_text("def moonrise(day):\n    return 'the hour at which the moon rises'\n")
    nvim = edit(file="src/auth.py")
    nvim.wait(READY)
    nvim.command(f"edit {other / 'moon.py'}")
    nvim.lua("choose = 1")
    nvim.command("Carrel search when does the moon rise")
    nvim.wait("return asked[1]")
    assert nvim.lua("return asked[1].items[1]").endswith("moonrise")
    assert len(nvim.server_pids()) == 2
    assert sorted(nvim.lua("return vim.tbl_keys(require('carrel.server').list())")) == [str(other), str(project)]


def test_context_reflects_unsaved_edits_at_once_in_every_buffer(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.index()
    edit_line = "vim.api.nvim_buf_set_lines(0, 1, 2, false, {args[1]})"
    nvim.command("split src/orders.py")
    # In one go, so that no timer of Neovim's can send the changes first.
    nvim.lua(
        f"{edit_line}; vim.cmd('wincmd p'); args[1] = args[2]; {edit_line}; vim.cmd('Carrel context login by moonlight, order')",
        "    # an order by sunlight",
        "    # a login by moonlight",
    )
    nvim.wait_note("tokens in register")
    text = nvim.lua("return vim.fn.getreg('\"')")
    assert "moonlight" in text
    assert "sunlight" in text
    assert "Check a login" not in text
    nvim.command("edit! | Carrel context how is a login checked")
    nvim.wait("return vim.fn.getreg('\"'):find('Check a login', 1, true)")
    assert "moonlight" not in nvim.lua("return vim.fn.getreg('\"')")


def test_a_killed_server_is_told_of_and_started_again(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.wait(READY)
    killed = kill_server(nvim)
    assert nvim.wait_note("unexpectedly") == "carrel: the server ended unexpectedly (signal 9) and is started again"
    nvim.wait(READY)
    (second,) = nvim.server_pids()
    assert second != killed
    # The open buffer belongs to the new server: what isn't saved counts.
    nvim.lua("vim.api.nvim_buf_set_lines(0, 1, 2, false, {'    # a login by moonlight'})")
    nvim.command("Carrel context login")
    nvim.wait_note("tokens in register")
    assert "moonlight" in nvim.lua("return vim.fn.getreg('\"')")


def test_a_request_that_the_server_took_with_it_is_answered(edit: Edit, project: Path) -> None:
    write_many(project, 1500, 200)
    nvim = edit(file="src/auth.py")
    nvim.wait(READY)
    nvim.command("Carrel index")
    nvim.wait("return #require('carrel.progress').tokens(args[1]) > 0", str(project))
    kill_server(nvim)
    nvim.wait_note("the server ended (signal 9) before it answered")
    nvim.wait(READY)
    assert nvim.lua("return require('carrel.progress').tokens(args[1])", str(project)) == []


def test_a_server_that_keeps_dying_is_left_alone_until_asked(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.lua(HOLD_RESTARTS)
    for death in range(4):
        nvim.wait(READY)
        kill_server(nvim)
        if death < 3:
            nvim.wait("return #restarts == 1")
            nvim.lua("table.remove(restarts)()")
    assert "lsp.log" in nvim.wait_note("is left alone now")
    assert nvim.lua("return #restarts") == 0, "it would be started again by and by"
    assert nvim.server_pids() == []
    nvim.command("Carrel index")
    nvim.wait_note("4 added")


def test_a_missing_server_is_told_once_with_the_remedy(edit: Edit) -> None:
    nvim = edit(file="src/auth.py", cmd=["carrel-that-is-not-here", "serve"])
    nvim.command("edit src/orders.py")
    (note,) = nvim.notes()
    assert note.startswith("carrel: carrel-that-is-not-here is not installed: run `pip install /path/to/carrel`")
    nvim.command("Carrel search login")
    assert len(nvim.notes()) == 2, "a command says it again"


def test_a_server_that_cannot_start_is_told_and_not_tried_again(edit: Edit, project: Path) -> None:
    nvim = edit(file="src/auth.py", cmd=[sys.executable, "-c", "raise SystemExit(3)"])
    assert nvim.wait_note("did not start") == "carrel: the server did not start (exit code 3); see :checkhealth carrel"
    nvim.command("Carrel search login")
    nvim.wait_note("the server ended (exit code 3) before it answered")
    assert len([note for note in nvim.notes() if note.startswith("carrel:")]) == 2, "Neovim's own words come beside ours"


def test_leaving_neovim_ends_the_server_without_a_word(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.wait(READY)
    (pid,) = nvim.server_pids()
    assert nvim.close() == 0
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10)
    assert not psutil.pid_exists(pid)


def test_stop_ends_servers_silently_and_the_next_command_starts_one(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.wait(READY)
    nvim.lua("require('carrel').stop()")
    nvim.command("Carrel index")
    nvim.wait_note(f"{len(FILES) - 1} added")
    assert len(nvim.notes()) == 1

"""Every sub-command of `:Carrel`."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
from tests.neovim.conftest import Edit
from tests.shop import write_files, write_many


@pytest.mark.every_neovim
def test_search_lets_the_person_choose_a_place_and_opens_it(edit: Edit, project: Path) -> None:
    nvim = edit(file="README.md")
    nvim.lua("choose = 1")
    nvim.command("Carrel search how is a login checked")
    nvim.wait("return #asked > 0 and vim.fn.expand('%:t') == 'auth.py'")
    (asked,) = nvim.lua("return asked")
    assert "src/auth.py:1-4" in asked["items"][0]
    assert nvim.lua("return vim.api.nvim_win_get_cursor(0)") == [1, 0]
    assert nvim.lua("return vim.fn.expand('%:p')") == str(project / "src/auth.py")


def test_search_asks_for_words_where_none_are_given_and_says_when_nothing_fits(edit: Edit) -> None:
    nvim = edit()
    nvim.lua("answer = 'xylophone quux zyzzyva'")
    nvim.command("Carrel search")
    nvim.wait_note("indexing the project for its first answer")
    nvim.wait_note("nothing in the project fits this question")
    assert nvim.lua("return asked[1].prompt") == "Search: "
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note("in register")
    assert sum("first answer" in note for note in nvim.notes()) == 1


def test_a_project_of_which_nothing_can_be_indexed_says_why(edit: Edit, tmp_path: Path) -> None:
    nvim = edit(cwd=write_files(tmp_path / "keys", {".env": "TOKEN=1\n", "id_rsa": "x\n"}))
    why = "Nothing is indexed: the folder holds no file to search (left out: 2 secret"
    for command in ("search", "context", "search"):
        nvim.lua("notes = {}")
        nvim.command(f"Carrel {command} how is a login checked")
        nvim.wait_note(why)
    assert len(nvim.notes()) == 1, nvim.notes()


def test_context_is_put_in_the_register(edit: Edit) -> None:
    nvim = edit(register="c")
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note("in register c")
    text = nvim.lua("return vim.fn.getreg('c')")
    assert "authenticate_user" in text
    assert text == nvim.lua("return vim.fn.getreg('\"')")
    assert "hunter2" not in text


def test_a_register_without_clipboard_falls_back_to_the_unnamed_one(edit: Edit) -> None:
    nvim = edit()
    if nvim.lua("return vim.fn.has('clipboard') == 1"):
        pytest.skip("this machine has a clipboard")
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note('in register "')
    assert "authenticate_user" in nvim.lua("return vim.fn.getreg('\"')")


@pytest.mark.every_neovim
def test_ask_shows_the_prompt_where_no_chat_is_installed(edit: Edit) -> None:
    nvim = edit(register="c")
    nvim.command("Carrel ask how is a login checked?")
    nvim.wait_note("before the question")
    prompt = nvim.text()
    context, _, question = prompt.rpartition("\n\n")
    assert question == "how is a login checked?"
    assert "authenticate_user" in context
    assert nvim.lua("return vim.fn.getreg('c')") == prompt
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)").endswith("carrel://prompt")
    nvim.command("normal q")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1


def test_index_reports_what_it_did_and_bang_does_it_again(edit: Edit) -> None:
    nvim = edit()
    nvim.command("Carrel index")
    assert "4 added, 0 changed" in nvim.wait_note("added")
    nvim.command("Carrel index")
    nvim.wait_note("0 added, 0 changed, 0 removed, 4 unchanged")
    nvim.command("Carrel! index")
    nvim.wait_note("0 added, 4 changed")


def test_index_beside_a_writer_that_is_stuck_says_what_to_do(edit: Edit, project: Path) -> None:
    writer = edit()
    writer.command("Carrel index")
    writer.wait_note("4 added")
    (stuck,) = writer.server_pids()
    nvim = edit()
    nvim.command("Carrel status")
    nvim.wait("return (require('carrel.progress').status(args[1]) or {}).files == 4", str(project))
    os.kill(stuck, signal.SIGSTOP)
    try:
        (project / "src/refunds.py").write_text("def refund(order):\n    return order.total_price()\n")
        nvim.command("Carrel index")
        told = nvim.wait_note("Another Carrel process writes this index")
    finally:
        os.kill(stuck, signal.SIGCONT)
    remedy = "Index there (an editor has a command for it), or close it and try again."
    assert told == f"carrel: Another Carrel process writes this index, and 1 changed file waits for it. {remedy}"
    writer.command("Carrel index")
    writer.wait("return #notes == 2")  # it may have seen the file by itself
    nvim.command("Carrel index")
    nvim.wait_note("0 added, 0 changed, 0 removed, 5 unchanged")
    assert len(nvim.notes()) == 2, nvim.notes()


@pytest.mark.every_neovim
def test_status_shows_state_files_and_what_was_left_out(edit: Edit, project: Path) -> None:
    nvim = edit()
    nvim.index()
    nvim.command("Carrel")
    nvim.wait("return vim.api.nvim_buf_get_name(0):find('carrel://status', 1, true) ~= nil")
    text = nvim.text()
    assert f"Folder:  {project}" in text
    assert "State:   ready" in text
    assert "Files:   4 in" in text
    assert "- python: 2 files" in text
    assert "- .env: " in text
    nvim.command("Carrel status")
    nvim.lua("return 1")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 2, "one status window is enough"


def test_clear_asks_first_and_deletes_the_index(edit: Edit, tmp_path: Path) -> None:
    nvim = edit()
    nvim.index()
    nvim.lua("choose = 2")
    nvim.command("Carrel clear")
    assert nvim.lua("return asked[1].items") == ["Delete", "Keep"]
    nvim.lua("choose = 1")
    nvim.command("Carrel clear")
    nvim.wait_note("the index is deleted")
    assert not list((tmp_path / "cache").rglob("*.seg*"))
    nvim.lua("notes = {}")
    nvim.command("Carrel! clear")
    nvim.wait_note("the index is deleted")
    assert len(nvim.lua("return asked")) == 2


def test_cancel_stops_an_index_and_keeps_what_was_finished(edit: Edit, project: Path) -> None:
    write_many(project, 400, 200)
    nvim = edit()
    nvim.command("Carrel cancel")
    assert nvim.notes() == ["carrel: nothing is running"]
    nvim.command("Carrel index")
    nvim.wait("return require('carrel').status():match('[%d,]+ of 404 files$')")
    nvim.command("Carrel cancel")
    assert re.fullmatch(r"carrel: cancelled, [\d,]+ files? kept", nvim.wait_note("cancelled"))
    nvim.wait("return not require('carrel').status():match('indexing')", seconds=20)
    assert not any("added" in note for note in nvim.notes())
    nvim.command("Carrel index")
    done = nvim.wait_note("unchanged, 0 failed")
    assert int(done.split(" added")[0].split()[-1]) + int(done.split(" unchanged")[0].split()[-1]) == 404


@pytest.mark.every_neovim
def test_progress_of_an_automatic_index_is_shown_and_can_be_cancelled(edit: Edit, project: Path) -> None:
    write_many(project, 1500, 200)
    nvim = edit(file="src/auth.py", settings={"ragAutoIndex": True, "ragEnabled": True})
    shown = nvim.wait("return require('carrel').status():match(' of 1,504 files') and require('carrel').status()")
    assert re.fullmatch(r"Carrel: indexing, [▰▱]{8} [\d,]+ of 1,504 files.*", shown), shown
    assert "%" not in shown
    nvim.command("Carrel cancel")
    nvim.wait_note("kept")
    nvim.wait("return #require('carrel.progress').tokens(args[1]) == 0", str(project), seconds=20)
    nvim.wait("return require('carrel').status():match('^Carrel: .* files.*: resume$')")
    nvim.command("Carrel index")
    nvim.wait("return require('carrel').status() == 'Carrel: ready'")


def test_status_line_says_what_the_index_holds(edit: Edit) -> None:
    nvim = edit()
    assert nvim.lua("return require('carrel').status()") == ""
    nvim.command("Carrel status")
    nvim.wait("return require('carrel').status() == 'Carrel: on request'")
    nvim.lua("require('carrel.config').current.settings.ragAutoIndex = true")
    assert nvim.lua("return require('carrel').status()") == "Carrel: not indexed"
    nvim.command("Carrel index")
    nvim.wait("return require('carrel').status() == 'Carrel: ready'")


@pytest.mark.every_neovim
def test_wrong_and_incomplete_commands(edit: Edit) -> None:
    nvim = edit()
    nvim.command("Carrel nonsense")
    assert "unknown command" in nvim.notes()[0]
    assert nvim.lua("return vim.fn.getcompletion('Carrel s', 'cmdline')") == ["search", "sources", "status"]
    assert nvim.lua("return vim.fn.getcompletion('Carrel ', 'cmdline')") == [
        *("ask", "cancel", "chat", "clear", "context", "index", "models", "off", "on", "receipt", "search", "sources", "status")
    ]
    assert nvim.server_pids() == [], "none of this needs a server"


def test_wrong_options_are_told_and_not_used(edit: Edit) -> None:
    nvim = edit(registre="x", register=7)
    assert sorted(nvim.notes()) == ['carrel: option "register" must be a string', 'carrel: unknown option "registre"']
    assert nvim.lua("return require('carrel.config').current.register") == "+"


def test_the_status_tells_of_pieces_without_a_vector(edit: Edit) -> None:
    nvim = edit()
    nvim.index()
    lines = """
    require('carrel.server').request(require('carrel.root').current(), 'carrel/status', {}, function(_, status)
      status.chunksWithoutVectors = args[1]
      local lines = require('carrel.view').status_lines(status)
      _G.told = vim.tbl_filter(function(line) return line:find('Without a vector', 1, true) end, lines)
      told[#told + 1] = 'end'
    end)
    return told
    """
    nvim.lua(lines, 1_204)
    assert nvim.wait("return told") == ["Without a vector: 1,204 pieces, found by words", "end"]
    nvim.lua("told = nil")
    nvim.lua(lines, 0)
    assert nvim.wait("return told") == ["end"]

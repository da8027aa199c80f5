"""`:Carrel sources`: listed, added and removed by the person at the keyboard, never by a function."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.documents import write_documents
from tests.neovim.conftest import Edit
from tests.neovim.nvim import Neovim

PERSON = """
_G.typed, _G.told = {}, {}
vim.api.nvim_list_uis = function() return { {} } end
vim.fn.input = function(prompt) typed[#typed + 1] = prompt; return answer end
vim.notify = function(message) told[#told + 1] = message end
"""


def told(nvim: Neovim, words: str) -> str:
    nvim.wait("for _, line in ipairs(told) do if line:find(args[1], 1, true) then return true end end", words)
    return str(nvim.lua("return table.concat(told, '\\n')"))


@pytest.mark.every_neovim
def test_a_source_is_added_shown_and_removed(edit: Edit, env: dict[str, str], tmp_path: Path) -> None:
    folder = write_documents(tmp_path / "runbooks")
    settings = Path(env["XDG_CONFIG_HOME"]) / "carrel" / "settings.toml"
    nvim = edit(autostart=False)
    nvim.lua(PERSON)
    nvim.lua("answer = ''")
    nvim.command(f"Carrel sources add ops {folder} what the on-call does")
    assert f"carrel sources add ops {folder}" in told(nvim, "you didn't agree")
    assert not settings.exists()
    nvim.lua("answer = 'allow'")
    nvim.command(f"Carrel sources add ops {folder} what the on-call does")
    told(nvim, "ops is searched with all your projects")
    prompt = nvim.lua("return typed[2]").split("\n")
    assert prompt[1:4] == ["  Description: what the on-call does", "  Name: ops", f"  Place: {folder}"]
    nvim.command("Carrel sources")
    nvim.wait("return vim.api.nvim_buf_get_name(0):find('carrel://sources', 1, true) ~= nil")
    text = nvim.text()
    assert "## ops: documents" in text
    assert f"Place:       {folder}" in text
    nvim.command("Carrel sources remove ops")
    told(nvim, "ops is no source any more")
    assert "[sources" not in settings.read_text("utf-8")


def test_what_can_not_be_is_said_before_anybody_is_asked(edit: Edit, tmp_path: Path) -> None:
    nvim = edit(autostart=False)
    nvim.lua(PERSON)
    nvim.command(f"Carrel sources add ops {tmp_path / 'missing'} nothing")
    told(nvim, "is no folder")
    nvim.command("Carrel sources remove ops")
    told(nvim, "is no source; there are none")
    nvim.command("Carrel sources frobnicate")
    told(nvim, "one of add, remove")
    assert nvim.lua("return typed") == []
    assert nvim.lua("return vim.fn.getcompletion('Carrel sources ', 'cmdline')") == ["add", "remove"]


def test_the_name_of_a_folder_runs_nothing(edit: Edit, tmp_path: Path) -> None:
    folder = tmp_path / "docs`>ran`"
    folder.mkdir()
    nvim = edit(autostart=False)
    nvim.lua(PERSON)
    nvim.lua("answer = ''")
    nvim.command(f"Carrel sources add ops {folder} what the on-call does")
    told(nvim, "you didn't agree")
    assert f"  Place: {folder}" in nvim.lua("return typed[#typed]")
    assert nvim.lua("return vim.fn.filereadable('ran')") == 0

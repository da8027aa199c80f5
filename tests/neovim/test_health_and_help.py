"""`:checkhealth carrel` and `:help carrel`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import PLUGIN


@pytest.mark.every_neovim
def test_checkhealth_says_what_is_well(edit: Edit, project: Path) -> None:
    nvim = edit(file="src/auth.py", register="c")
    nvim.wait("for _, ready in pairs(require('carrel.server').list()) do return ready end")
    nvim.command("checkhealth carrel")
    text = nvim.wait("local t = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'); return t:find('Log of') and t")
    assert "carrel 0." in text
    assert "Native core: " in text
    assert f"A server runs for {project}" in text
    assert "ERROR" not in text
    assert "WARN" not in text.replace("`WARN", "")


def test_checkhealth_names_the_remedy_for_a_missing_server(edit: Edit) -> None:
    nvim = edit(cmd=["carrel-that-is-not-here", "serve"])
    nvim.command("checkhealth carrel")
    text = nvim.wait("local t = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'); return t:find('Log of') and t")
    assert "ERROR" in text
    assert "carrel-that-is-not-here is not installed or not on PATH" in text
    assert "pip install /path/to/carrel" in text


def test_every_command_option_and_function_has_its_help_tag(edit: Edit, tmp_path: Path) -> None:
    copy = tmp_path / "plugin"
    shutil.copytree(PLUGIN / "doc", copy / "doc", ignore=shutil.ignore_patterns("tags"))
    nvim = edit(runtime=(copy,))
    nvim.command(f"helptags {copy / 'doc'}")
    names = [f":Carrel-{name}" for name in nvim.lua("return require('carrel.commands').names()")]
    names += [f"carrel-option-{name}" for name in nvim.lua("return vim.tbl_keys(require('carrel.config').defaults)")]
    names += [f"carrel.{name}()" for name in nvim.lua("return vim.tbl_keys(require('carrel'))")]
    tags = {line.split("\t")[0] for line in (copy / "doc/tags").read_text().splitlines()}
    assert set(names) <= tags
    nvim.command("help :Carrel-search")
    assert nvim.lua("return vim.fn.expand('%:t')") == "carrel.txt"

"""Remote models: the question for permission, and `:Carrel models`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import Neovim

STAND_IN = Path(__file__).parents[1] / "stand_in_carrel.py"
REMOTE = {
    "cmd": [sys.executable, "-P", str(STAND_IN), "serve"],
    "autostart": False,
    "settings": {"models": {"embedder": {"provider": "stand-in"}}},
}
PERSON = """
_G.typed = {}
vim.api.nvim_list_uis = function() return { {} } end
vim.fn.input = function(prompt)
  typed[#typed + 1] = prompt
  if answer == nil then error('Keyboard interrupt') end
  return answer
end
"""


@pytest.fixture(autouse=True)
def keys(env: dict[str, str], tmp_path: Path) -> Path:
    env["CARREL_STAND_IN"] = str(tmp_path / "keys")
    return tmp_path / "keys"


def shown(nvim: Neovim, words: str) -> str:
    nvim.wait("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find(args[1], 1, true) ~= nil", words)
    return nvim.text()


@pytest.mark.every_neovim
def test_models_are_shown_and_nobody_is_asked_for_looking(edit: Edit) -> None:
    nvim = edit(**REMOTE)
    nvim.lua(PERSON)
    nvim.command("Carrel models")
    text = shown(nvim, "## Providers")
    for line in ("## embedder: stand-in", "Text goes:  models.example", "Key:        none found; :help carrel-keys"):
        assert line in text
    assert "Allowed:    not yet" in text
    assert "- embedder: bundled, hashed words" in text
    assert nvim.lua("return typed") == []


def test_the_bundled_model_sends_nothing(edit: Edit) -> None:
    nvim = edit(autostart=False)
    nvim.command("Carrel! models")
    text = shown(nvim, "Answered:   in ")
    assert "## embedder: bundled" in text
    assert "Text goes:  nowhere, it runs inside Carrel" in text


@pytest.mark.every_neovim
def test_only_the_whole_word_allows(edit: Edit) -> None:
    nvim = edit(**REMOTE)
    nvim.lua(PERSON)
    for number, answer in enumerate(("", "a", "y", "allow it", None), 1):
        nvim.lua("answer = args[1]; if answer == vim.NIL then answer = nil end", answer)
        nvim.command("Carrel! models")
        nvim.wait("return #typed == args[1]", number)
        assert "nobody allowed it yet" in shown(nvim, "Problem:    ")
        nvim.command("normal q")
    nvim.lua("answer = 'allow'")
    nvim.command("Carrel! models")
    text = shown(nvim, "Allowed:    yes")
    assert "Problem:    There is no key for stand-in" in text
    prompt = nvim.lua("return typed[1]").split("\n")
    assert prompt[:3] == [
        "Carrel: Text of your code and of your questions leaves this machine.",
        "  host: models.example",
        "  provider: stand-in",
    ]
    assert prompt[3].startswith('Type "allow"')


def test_where_nobody_looks_nothing_is_allowed(edit: Edit) -> None:
    nvim = edit(**REMOTE)
    nvim.lua(PERSON)
    nvim.lua("vim.api.nvim_list_uis = function() return {} end; answer = 'allow'")
    nvim.command("Carrel! models")
    assert "nobody allowed it yet" in shown(nvim, "Problem:    ")
    assert nvim.lua("return typed") == []


def test_the_key_of_the_environment_is_used(edit: Edit, env: dict[str, str], keys: Path) -> None:
    env["OPENAI_API_KEY"] = "planted"
    nvim = edit(**{**REMOTE, "settings": {"models": {"embedder": {"provider": "stand-in", "key": "env:OPENAI_API_KEY"}}}})
    nvim.lua(PERSON)
    nvim.lua("answer = 'allow'")
    nvim.command("Carrel! models")
    assert "Key:        found" in shown(nvim, "Answered:   in ")
    assert keys.read_text("utf-8").split() == ["planted"]


def test_a_question_cannot_be_made_to_look_like_another(edit: Edit) -> None:
    nvim = edit(autostart=False)
    lines = nvim.lua(
        "return require('carrel.permission').lines({ risk = 'Text leaves.', details = { host = 'evil\\n  host: localhost' } })"
    )
    assert lines == ["Carrel: Text leaves.", "  host: evil   host: localhost"]

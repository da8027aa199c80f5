"""Context in chat plugins. Stand-ins with the documented interface of each record what they are given."""

from __future__ import annotations

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import Neovim

COPILOTCHAT = """
package.loaded['CopilotChat'] = { config = { functions = {} }, ask = function(prompt, config) got = { prompt, config } end }
"""
CODECOMPANION = """
local chat = { add_context = function(_, data, source, id) added = { data, source, id } end }
package.loaded['codecompanion.config'] = { interactions = { chat = { slash_commands = {} } } }
package.loaded['codecompanion'] = {
  chat = function(args) got = args end,
  buf_get_chat = function(buffer) return buffer == vim.api.nvim_get_current_buf() and chat end,
}
_G.chat = chat
"""
# plenary's `wrap`: the caller is a coroutine that goes on when the callback is called.
PLENARY = """
package.loaded['plenary.async'] = { wrap = function(work) return function(...)
  local me = coroutine.running()
  work(..., function(result) coroutine.resume(me, result) end)
  return coroutine.yield()
end end }
"""
QUESTION = "how is a login checked? #buffer @x"


def ask(nvim: Neovim) -> str:
    nvim.command("Carrel ask " + QUESTION)
    return nvim.wait_note("before the question")


@pytest.mark.every_neovim
def test_copilotchat_gets_the_words_unchanged_and_the_context_as_a_resource(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(COPILOTCHAT)
    assert ask(nvim).endswith("in CopilotChat")
    assert nvim.lua("return got[1]") == QUESTION
    name = nvim.lua("return got[2].resources[1]")
    (resource,) = nvim.lua("return got[2].functions[args[1]].resolve()", name)
    assert "authenticate_user" in resource["data"]
    assert resource["uri"].startswith("carrel://context/")


def test_copilotchat_function_answers_inside_a_prompt(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(PLENARY)
    nvim.lua(
        "coroutine.wrap(function() got = require('carrel').copilotchat().resolve({ question = 'how is a login checked' }) end)()"
    )
    assert "authenticate_user" in nvim.wait("return got")[0]["data"]
    assert nvim.lua("return #require('carrel').copilotchat().resolve({})") == 0, "CopilotChat does this after a quoted input"


def test_a_chat_goes_on_with_an_empty_pack_when_carrel_cannot_answer(edit: Edit) -> None:
    nvim = edit(cmd=["carrel-that-is-not-here", "serve"])
    nvim.lua("require('carrel').context('how', function(pack) got = pack end)")
    pack = nvim.wait("return got")
    assert pack["text"] == ""
    assert "pip install /path/to/carrel" in pack["error"]
    nvim.wait_note("pip install /path/to/carrel")


def test_codecompanion_gets_the_context_as_a_hidden_message(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(CODECOMPANION)
    assert ask(nvim).endswith("in CodeCompanion")
    context, question = nvim.lua("return got.messages")
    assert "authenticate_user" in context["content"]
    assert context["opts"] == {"visible": False}
    assert question["content"] == QUESTION
    assert nvim.lua("return got.auto_submit") is True


def test_codecompanion_slash_command_adds_a_context_item(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(CODECOMPANION)
    nvim.lua("require('codecompanion._extensions.carrel').setup({}); answer = 'how is a login checked'")
    nvim.lua("require('codecompanion.config').interactions.chat.slash_commands.carrel.callback(chat)")
    data, source, identity = nvim.wait("return added")
    assert "authenticate_user" in data["content"]
    assert (source, identity) == ("carrel", "<carrel>how is a login checked</carrel>")


def test_context_goes_to_the_chat_in_front(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(CODECOMPANION)
    nvim.lua("vim.bo.filetype = 'codecompanion'; vim.bo.buftype = 'nofile'")
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note("in this chat")
    assert "authenticate_user" in nvim.lua("return added[1].content")
    nvim.lua("vim.cmd('enew'); vim.bo.buftype = 'nofile'; vim.bo.filetype = 'copilot-chat'; notes = {}")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {'# User', ''})")
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note("in this chat")
    assert nvim.text().startswith("# User\n\n<")
    assert "authenticate_user" in nvim.text()


def test_a_chat_of_ones_own_and_none_at_all(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(COPILOTCHAT)
    nvim.lua(
        "require('carrel').setup({ cmd = require('carrel.config').current.cmd, chat = function(q, p) got = { q, p.text } end })"
    )
    ask(nvim)
    question, text = nvim.lua("return got")
    assert question == QUESTION
    assert "authenticate_user" in text
    nvim.lua("got = nil; notes = {}; require('carrel.config').current.chat = 'buffer'")
    ask(nvim)
    assert nvim.lua("return got") is None
    assert nvim.text().endswith(QUESTION)


def test_a_chat_gets_the_bare_question_where_nothing_fits(edit: Edit) -> None:
    nvim = edit()
    nvim.lua(COPILOTCHAT)
    nvim.command("Carrel ask xylophone quux zyzzyva")
    nvim.wait_note("0 places")
    assert nvim.lua("return { got[1], got[2] == nil }") == ["xylophone quux zyzzyva", True]

"""`:Carrel chat`: a conversation with a chat model behind real HTTP, in a scratch window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import Neovim
from tests.services.standin import HANG, Call, Reply, StandIn, running


@pytest.fixture
def service() -> Iterator[StandIn]:
    with running() as service:
        yield service


def talking(edit: Edit, service: StandIn) -> Neovim:
    chat = {"provider": "ollama", "baseUrl": service.url, "model": "tiny"}
    nvim = edit(file="src/auth.py", settings={"models": {"chat": chat}, "planner": "never"})
    nvim.index()
    return nvim


def shown(nvim: Neovim, words: str) -> list[str]:
    """The lines of the conversation, once these words are in it and the answer is complete."""
    code = """
    local buffer = vim.fn.bufnr('^carrel://chat$')
    local lines = buffer > 0 and vim.api.nvim_buf_get_lines(buffer, 0, -1, false) or {}
    local answering = lines[#lines] and lines[#lines]:find('…', 1, true)
    return not answering and table.concat(lines, '\\n'):find(args[1], 1, true) and lines
    """
    lines: list[str] = nvim.wait(code, words)
    return lines


def roles(asked: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in asked.body["messages"] if message["role"] != "system"]


@pytest.mark.every_neovim
def test_an_answer_streams_in_with_its_places_and_the_conversation_goes_on(edit: Edit, service: StandIn) -> None:
    nvim = talking(edit, service)
    answer = Reply("`authenticate_user` does it (src/auth.py:1-3). Not src/other.py:7.")
    service.script = [
        Reply("Let me look.", calls=(Call("search_code", {"query": "login"}),)),
        answer,
        answer,  # asked again, since a place doesn't hold
        Reply("Nobody."),
        Reply("Still nobody."),
    ]
    nvim.command("Carrel chat how is a login checked?")
    lines = shown(nvim, "- src/other.py")
    assert lines[:4] == ["## how is a login checked?", "", "> search_code: login", "> asked again"]
    assert "Let me look." not in lines
    assert lines[4].startswith("`authenticate_user` does it (src/auth.py:1-3)")
    assert "- src/auth.py:1-3" in lines
    assert any(line.startswith("- src/other.py:7-7 (unverified: ") for line in lines)
    places = nvim.lua(
        "return vim.tbl_map(function(item) return { vim.fn.bufname(item.bufnr), item.lnum } end, vim.fn.getqflist())"
    )
    assert [(path.rsplit("/src/", 1)[-1].removeprefix("src/"), line) for path, line in places] == [
        ("auth.py", 1),
        ("other.py", 7),
    ]
    nvim.lua("vim.fn.search('^- src/auth')")
    nvim.command('execute "normal \\<cr>"')
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)").endswith("src/auth.py")

    nvim.command("Carrel chat who calls it?")
    assert "## who calls it?" in shown(nvim, "Nobody.")
    said = [content for _, content in roles(service.last)]
    assert any("how is a login checked?" in content for content in said)
    assert "who calls it?" in said[-1]

    nvim.command("tabedit src/auth.py")
    nvim.command("Carrel chat and from here?")
    assert "## and from here?" in shown(nvim, "Still nobody.")

    nvim.command("Carrel! chat and now?")
    assert shown(nvim, "## and now?")[0] == "## and now?"


@pytest.mark.every_neovim
def test_a_question_is_cancelled_by_the_command_and_by_closing_the_window(edit: Edit, service: StandIn) -> None:
    nvim = talking(edit, service)
    service.script = [HANG]
    for number, stop in enumerate(("Carrel cancel", "bwipeout"), 1):
        nvim.command("Carrel! chat how is a login checked?")
        nvim.wait("return vim.fn.bufnr('^carrel://chat$') > 0")
        _until_asked(nvim, service, number)
        nvim.command("Carrel chat and this?")
        nvim.wait_note("the last question is still being answered; :Carrel cancel stops it")
        nvim.command(stop)
        assert [asked for asked in service.requests if asked.path == "/api/chat"][-1].gone.wait(10)


def _until_asked(nvim: Neovim, service: StandIn, times: int) -> None:
    while sum(asked.path == "/api/chat" for asked in service.requests) < times:
        nvim.lua("return 1")


def test_without_a_model_it_says_how_to_set_one(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.command("Carrel chat how is a login checked?")
    nvim.wait_note("No chat model is set")
    assert "Set one in your settings" in "".join(shown(nvim, "> No chat model is set"))


def test_two_projects_share_the_window_and_not_a_word(edit: Edit, service: StandIn, project: Path) -> None:
    """There is one window and a conversation for each project: neither is drawn over the other, nor told to the other's model."""
    other = project.parent / "other"
    (other / "src").mkdir(parents=True)
    (other / ".git").mkdir()
    (other / "src/mail.py").write_text('def send_letter(to):\n    """Send a letter."""\n    return post(to)\n')
    nvim = talking(edit, service)
    service.script = [Reply("The login."), Reply("The letter."), Reply("The login, again.")]
    nvim.command("Carrel chat how is a login checked?")
    shown(nvim, "The login.")

    nvim.command(f"edit {other / 'src/mail.py'}")
    nvim.command("Carrel chat who sends letters?")
    assert not any("login" in line.lower() for line in shown(nvim, "The letter."))
    assert not any("login" in content for _, content in roles(service.last))

    nvim.command(f"edit {project / 'src/auth.py'}")
    nvim.command("Carrel chat and who else?")
    lines = shown(nvim, "The login, again.")
    assert "## how is a login checked?" in lines
    assert not any("letter" in line.lower() for line in lines)
    assert not any("letters" in content for _, content in roles(service.last))

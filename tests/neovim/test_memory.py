"""The first five minutes: the welcome, on and off, which are kept for the person and not in the project; and the words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.neovim.conftest import Edit
from tests.neovim.nvim import PLUGIN

VSCODE = PLUGIN.parent / "vscode/src/receipts/why.ts"
STATUS = "return require('carrel').status()"


@pytest.mark.every_neovim
def test_a_project_is_offered_once_and_on_indexes_and_remembers_it(edit: Edit, project: Path) -> None:
    before = sorted(path for path in project.rglob("*"))
    nvim = edit(file="src/auth.py", welcome=True)
    offer = nvim.wait_note("remember this project?")
    assert "`:Carrel on` indexes it" in offer
    assert len(offer) <= 80 - len("showcmd and ruler"), "what is longer waits for Enter"
    nvim.command("Carrel on")
    assert "4 added" in nvim.wait_note("added")
    nvim.wait(f"{STATUS} == 'Carrel: ready'")
    nvim.close()
    again = edit(file="src/auth.py", welcome=True)
    again.wait(f"{STATUS} == 'Carrel: ready'")
    (project / "src/new.py").write_text("def refund(order):\n    return order.total_price()\n")
    again.wait("return (require('carrel.progress').status(args[1]) or {}).files == 5", str(project))  # the server watches
    assert again.notes() == []
    (project / "src/new.py").unlink()
    assert sorted(path for path in project.rglob("*")) == before, "nothing is written into the project"


def test_off_ends_the_server_and_a_question_still_works(edit: Edit, project: Path) -> None:
    nvim = edit(file="src/auth.py", settings={"ragAutoIndex": True, "ragEnabled": True})
    nvim.wait(f"{STATUS} == 'Carrel: ready'")
    nvim.command("Carrel off")
    nvim.wait_note("off for this project")
    nvim.wait("return vim.tbl_isempty(require('carrel.server').list())")
    nvim.command("edit src/orders.py")
    assert nvim.lua("return vim.tbl_isempty(require('carrel.server').list())"), "a file of it starts nothing"
    nvim.command("Carrel context how is a login checked")
    nvim.wait_note("in register")
    nvim.wait(f"{STATUS} == 'Carrel: ready'")
    nvim.command("Carrel on")
    nvim.wait(f"{STATUS} == 'Carrel: ready'")


def test_reasons_are_in_the_words_of_vs_code(edit: Edit) -> None:
    rules = re.search(r"const RULES.*?\{(.*?)\};", VSCODE.read_text("utf-8"), re.DOTALL)
    assert rules
    words = dict(re.findall(r"(\w+): l10n\.t\('(.*?)'\),", rules[1]))
    assert edit().lua("return require('carrel.words').rules") == words


def test_states_and_reasons_in_words(edit: Edit) -> None:
    nvim = edit()
    hit: dict[str, Any] = {"uri": "file:///w/a.py", "score": 0.5, "signals": {"matched": [], "boosts": [], "contributions": []}}

    def why(around: dict[str, object] | None = None, **more: object) -> str:
        return str(nvim.lua("return require('carrel.words').why(args[1], args[2])", {**hit, **more}, around or {"pinned": []}))

    assert why() == "Fits the question best by all signs together."
    assert why(attached=True) == "You selected or attached these lines."
    names: dict[str, Any] = {"definitions": ["a", "b", "c", "d", "d"], "signals": {**hit["signals"], "matched": ["x", "y"]}}
    assert why(**names) == "Defines a, b, c and 1 more name and holds “x”, “y”."
    tied = {**hit["signals"], "boosts": [{"rule": "tied", "factor": 1.2}]}
    assert why({"front": "file:///w/b.py"}, signals=tied) == "Uses or is used by b.py, the file in front of you."

    def state(on: bool, **status: object) -> str:
        whole = {"state": "ready", "files": 18445, "complete": True, "role": "writer", **status}
        return str(nvim.lua("return require('carrel.words').state(args[1], args[2])", whole, on))

    assert state(True) == "ready"
    assert state(False) == "ready", "the index answers"
    assert state(False, state="empty", files=0) == "on request"
    assert state(True, state="empty", files=0) == "not indexed"
    assert state(False, complete=False, unfinished=31556) == "18,445 of 50,001 files: resume"
    assert state(True, complete=False) == "18,445 files, not all: resume"
    assert state(True, state="error") == "problem"
    assert nvim.lua("return require('carrel.words').progress('18445/50001 files')") == "▰▰▰▱▱▱▱▱ 18,445 of 50,001 files"
    for said, bar in {"0/5": "▱▱▱▱▱▱▱▱", "5995/50000": "▰▱▱▱▱▱▱▱", "49999/50000": "▰▰▰▰▰▰▰▱", "5/5": "▰▰▰▰▰▰▰▰"}.items():
        assert nvim.lua(f"return require('carrel.words').progress('{said} files')").startswith(f"{bar} ")


def test_a_follow_up_knows_the_questions_before_it_and_a_selection_goes_along(edit: Edit) -> None:
    nvim = edit(file="src/auth.py")
    nvim.lua("sent = {}; require('carrel.config').current.chat = function(q, p) sent[#sent + 1] = { q, p } end")
    nvim.command("Carrel ask where is load_account defined?")
    nvim.wait("return #sent == 1")
    nvim.command("Carrel ask and how is that tested?")
    nvim.wait("return #sent == 2")
    assert "load account" in nvim.lua("return sent[2][2].rewritten")
    nvim.command("2,3Carrel ask what does this do?")
    nvim.wait("return #sent == 3")
    first = nvim.lua("return sent[3][2].hits[1]")
    assert (first["attached"], first["path"]) == (True, "src/auth.py")
    nvim.command("Carrel ask hello!")
    nvim.wait("return #sent == 4")
    assert nvim.lua("return sent[4][2].text") == "", "a greeting gets nothing"


def test_a_codecompanion_chat_is_a_conversation(edit: Edit) -> None:
    nvim = edit()
    messages = [
        {"role": "system", "content": "You are a programmer."},
        {"role": "user", "content": "where are accounts loaded?"},
        {"role": "user", "content": "<context>", "opts": {"visible": False}},
        {"role": "llm", "content": "In load_account."},
    ]
    history = nvim.lua("return require('carrel.chat').history({ messages = args[1] })", messages)
    assert [(turn["role"], turn["content"]) for turn in history] == [
        ("user", "where are accounts loaded?"),
        ("assistant", "In load_account."),
    ]

"""What is put beside a prompt: code where it asks for some, once a session, within the budget, and never an error."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess

import pytest
from tests.support.workspaces import Open, indexed
from tests.waiting import until

from carrel.index.workspace_state import FolderSettings
from carrel.model.conversation import Message
from carrel.pack.formats import Form
from carrel.service.prompt_context import INDEXING, NOTHING, WITH_TAGS, WITHOUT_TAGS, Prompt, PromptContexts
from carrel.service.workspace import Workspace

ASKED = "How is a login checked against the user table?"


async def test_code_is_added_once_a_session(open_workspace: Open) -> None:
    workspace, prompts = await indexed(open_workspace()), PromptContexts()
    first = await prompts.addition(workspace, Prompt(ASKED, "s"))
    assert '<code_context file="src/auth.py"' in first.text
    assert "def authenticate_user" in first.text
    assert first.line.startswith("Carrel: ")
    assert first.line.endswith(" tokens")
    assert await prompts.addition(workspace, Prompt(ASKED, "s")) == NOTHING
    other = await prompts.addition(workspace, Prompt(ASKED, "t"))
    assert (other.text, other.line) == (first.text, first.line)
    (workspace.root / "src/auth.py").write_text("def authenticate_user(name):\n    return name\n", "utf-8")
    workspace.changed_on_disk(["src/auth.py"])
    changed = Prompt(f"{ASKED} authenticate_user", "s")

    async def added() -> str:
        return (await prompts.addition(workspace, changed)).text

    assert "return name" in await until(added)


async def test_of_two_prompts_at_once_one_gets_the_places(open_workspace: Open) -> None:
    workspace, prompts = await indexed(open_workspace()), PromptContexts()
    both = await asyncio.gather(*(prompts.addition(workspace, Prompt(ASKED, "s")) for _ in range(2)))
    assert sorted(bool(addition.text) for addition in both) == [False, True]


@pytest.mark.parametrize("text", ["", " \n", "/compact", "!ls", "yes", "go on", "no, the other one", "commit this", "thanks!"])
async def test_nothing_is_added_to_what_only_steers(open_workspace: Open, text: str) -> None:
    workspace = await indexed(open_workspace())
    turns = [Message("user", ASKED), Message("assistant", "`authenticate_user` in src/auth.py")]
    assert await PromptContexts().addition(workspace, Prompt(text, "s", turns)) == NOTHING


async def test_a_question_takes_in_the_turns_before(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    turns = [Message("user", "where is the price?"), Message("assistant", "`Order.total_price` in src/orders.py sums it up.")]
    asked = "and which class holds that?"
    assert "orders.py" in (await PromptContexts().addition(workspace, Prompt(asked, turns=turns))).text
    assert "orders.py" not in (await PromptContexts().addition(workspace, Prompt(asked))).text


@pytest.mark.parametrize("form", [WITH_TAGS, WITHOUT_TAGS])
async def test_the_most_bytes_are_kept_to(open_workspace: Open, form: Form) -> None:
    workspace, prompts = await indexed(open_workspace()), PromptContexts()
    asked = f"{ASKED} And the total_price of an Order?"
    whole = (await prompts.addition(workspace, Prompt(asked, form=form))).text
    less = (await prompts.addition(workspace, Prompt(asked, form=form, most_bytes=len(whole) - 1))).text
    assert 0 < len(less.encode()) < len(whole)
    assert (await prompts.addition(workspace, Prompt(asked, form=form, most_bytes=20))) == NOTHING
    assert ("<" in whole) is (form is WITH_TAGS)


async def test_a_line_within_the_budget_says_where_else_to_look(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    workspace.apply(FolderSettings(dataclasses.replace(workspace.settings, prompt_tokens=100)))
    added = await PromptContexts().addition(workspace, Prompt(f"{ASKED} And the total_price of an Order?"))
    assert "\nNot shown for want of room: " in added.text
    assert workspace.tokenizer(None).count(added.text) <= 100


async def test_a_prompt_of_a_million_characters_is_answered(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    added = await PromptContexts().addition(workspace, Prompt(f"{ASKED} authenticate_user\n{'x ' * 500_000}"))
    assert "authenticate_user" in added.text


async def test_no_program_is_started_for_a_prompt(open_workspace: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = await indexed(open_workspace())
    monkeypatch.setattr(subprocess, "Popen", None)
    assert (await PromptContexts().addition(workspace, Prompt(ASKED))).text


async def test_without_an_index_nothing_waits_and_it_is_said_once(open_workspace: Open) -> None:
    workspace, prompts = open_workspace(), PromptContexts()
    added = await prompts.addition(workspace, Prompt(ASKED))
    assert (added.text, added.line) == ("", INDEXING)
    assert (await prompts.addition(workspace, Prompt(ASKED))).line != INDEXING
    await _complete(workspace)
    assert "authenticate_user" in (await prompts.addition(workspace, Prompt(ASKED))).text


async def test_a_person_reads_why_there_is_no_context(open_workspace: Open) -> None:
    workspace = await indexed(open_workspace())
    added = await PromptContexts(first_ms=0).addition(workspace, Prompt(ASKED))
    assert (added.text, added.line) == ("", "Carrel: no context. There was no answer within 0 ms.")


async def test_who_switched_context_off_gets_none(open_workspace: Open) -> None:
    for workspace in (open_workspace("new"), await indexed(open_workspace())):
        workspace.apply(FolderSettings(dataclasses.replace(workspace.settings, rag_enabled=False)))
        assert await PromptContexts().addition(workspace, Prompt(ASKED)) == NOTHING


async def _complete(workspace: Workspace) -> None:
    await until(lambda: workspace.index is not None and workspace.index.complete and not workspace.queue.busy)

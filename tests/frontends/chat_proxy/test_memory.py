"""A context stays before its message, while its conversation goes on and its places may be given."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.shop import index, write_files

from carrel.frontends.chat_proxy import context_injector
from carrel.frontends.chat_proxy.context_injector import ContextInjector, InjectionOptions, Rewritten
from carrel.frontends.chat_proxy.context_memory import RETRY_SECONDS, ContextMemory
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.model.caller import Caller
from carrel.model.errors import CarrelError
from carrel.policy.audit import AuditTrail
from carrel.service.context_service import context
from carrel.settings.settings_files import user_file

FIRST, SECOND = "how does login check the password?", "and how is the order priced?"
ANSWER = {"role": "assistant", "content": "It compares them."}
AUTH = "def login(name, password):\n    return load_account(name).verify(password)\n"
PRICES = "def order_price(order):\n    return sum(item.price for item in order.items)\n"
CHAT = "/v1/chat/completions"


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def step(number: int) -> list[dict[str, Any]]:
    """Return a call of a tool and what the tool said."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "edit", "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": ""},
    ]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Chat:
    """Sends conversations through an injector, and has what goes on to the upstream."""

    def __init__(self, injector: ContextInjector, root: Path, clock: Clock) -> None:
        self.injector, self.root, self.clock = injector, root, clock
        self.raw, self.last = b"", Rewritten(b"", "")

    async def send(
        self, *messages: dict[str, Any], path: str = CHAT, field: str = "messages", session: str | None = None, **more: Any
    ) -> list[Any]:
        self.raw = json.dumps({"model": "gpt-4o", **more, field: messages}).encode()
        self.last = await self.injector.rewrite(path, self.raw, None, lambda: None, session)
        sent: list[Any] = json.loads(self.last.body)[field]
        return sent

    def edit(self, name: str = "auth.py") -> None:
        file = self.root / name
        file.write_text(file.read_text().replace("    return", "    audit()\n    return"))


@pytest.fixture
async def chat(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Chat]:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    root = write_files(tmp_path / "shop", {"auth.py": AUTH, "prices.py": PRICES})
    index(root, env)
    clock = Clock()
    injector = ContextInjector(InjectionOptions((root,), deadline_ms=60_000), ContextSwitch())
    injector._memory = ContextMemory(clock)
    yield Chat(injector, root, clock)
    await injector.close()


@pytest.mark.parametrize(("path", "field"), [(CHAT, "messages"), ("/api/chat", "messages"), ("/v1/responses", "input")])
async def test_a_conversation_is_sent_again_as_it_was_sent(chat: Chat, path: str, field: str) -> None:
    more: dict[str, Any] = {"path": path, "field": field, "options": {"num_ctx": 32_000}}
    one = await chat.send(user(FIRST), **more)
    assert (chat.last.note, "verify(password)" in one[0]["content"]) == ("1 place", True)
    two = await chat.send(user(FIRST), *step(1), **more)
    chat.edit()
    three = await chat.send(user(FIRST), *step(1), *step(2), **more)
    assert (two[0], three[0], chat.last.note) == (one[0], one[0], "1 remembered")
    asked = [user(FIRST), *step(1), *step(2), ANSWER, user(SECOND)]
    four = await chat.send(*asked, **more)
    assert four[:-1] == [*three, ANSWER]
    assert chat.last.note in ("1 place, 1 remembered", "2 places, 1 remembered")
    assert "order_price" in four[-1]["content"]
    five = await chat.send(*asked, *step(3), **more)
    assert five[: len(four)] == four
    assert {item.hit.chunk.path for item in chat.last.items} == {"auth.py", "prices.py"}


async def test_the_same_messages_get_the_same_context_until_they_are_a_new_conversation(chat: Chat) -> None:
    first = await chat.send(user(FIRST))
    chat.edit()
    chat.clock.now += RETRY_SECONDS
    assert await chat.send(user(FIRST)) == first
    chat.clock.now += 1
    later = await chat.send(user(FIRST))
    assert (chat.last.note, "audit()" in later[0]["content"], "audit()" in first[0]["content"]) == ("1 place", True, False)


async def test_conversations_that_begin_alike_part_with_their_answers(chat: Chat) -> None:
    one = await chat.send(user(FIRST))
    await chat.send(user(FIRST), ANSWER, user(SECOND))
    chat.edit()
    chat.clock.now += RETRY_SECONDS + 1
    other = await chat.send(user(FIRST))
    assert other != one
    assert (await chat.send(user(FIRST), {**ANSWER, "content": "By verify."}, user(SECOND)))[0] == other[0]
    assert (await chat.send(user(FIRST), ANSWER, user("Thanks.")))[0] == one[0]


@pytest.mark.parametrize("own", [{"prompt_cache_key": "x"}, {"user": "x"}, {"previous_response_id": "x"}, {"instructions": "x"}])
async def test_a_conversation_of_another_name_shares_nothing(chat: Chat, own: dict[str, str]) -> None:
    await chat.send(user(FIRST))
    chat.edit()
    assert "audit()" in (await chat.send(user(FIRST), **own))[0]["content"]
    assert "audit()" not in (await chat.send(user(FIRST)))[0]["content"]


async def test_a_mark_for_a_cache_makes_no_other_conversation(chat: Chat) -> None:
    one = await chat.send(user(FIRST))
    chat.edit()
    part = {"type": "text", "text": FIRST, "cache_control": {"type": "ephemeral"}}
    two = await chat.send({"role": "user", "content": [part]}, ANSWER, user(SECOND))
    assert two[0]["content"][0] == {**part, "text": one[0]["content"]}


def ignore(chat: Chat) -> Callable[[], None]:
    (chat.root / ".gitignore").write_text("auth.py\n")
    return (chat.root / ".gitignore").unlink


def exclude(chat: Chat) -> Callable[[], None]:
    (chat.root / ".carrel.toml").write_text('exclude = ["auth.py"]\n')
    return (chat.root / ".carrel.toml").unlink


def delete(chat: Chat) -> Callable[[], None]:
    (chat.root / "auth.py").unlink()

    def put_back() -> None:
        (chat.root / "auth.py").write_text(AUTH)

    return put_back


def rename_to_secrets(chat: Chat) -> Callable[[], None]:
    """Give the file a second name, which is one of secrets."""
    (chat.root / ".env").hardlink_to(chat.root / "auth.py")
    return (chat.root / ".env").unlink


def lead_away(chat: Chat) -> Callable[[], None]:
    (chat.root / "auth.py").rename(chat.root.parent / "auth.py")
    (chat.root / "auth.py").symlink_to(chat.root.parent / "auth.py")

    def put_back() -> None:
        (chat.root.parent / "auth.py").rename(chat.root / "auth.py")

    return put_back


def off(chat: Chat) -> Callable[[], None]:
    (chat.root / ".carrel.toml").write_text("ragEnabled = false\n")
    return (chat.root / ".carrel.toml").unlink


@pytest.mark.parametrize("forbid", [ignore, exclude, delete, rename_to_secrets, lead_away, off])
async def test_what_may_not_be_given_any_more_is_not_sent_again(chat: Chat, forbid: Callable[[Chat], Callable[[], None]]) -> None:
    assert "verify(password)" in (await chat.send(user(FIRST)))[0]["content"]
    allow_again = forbid(chat)
    for asked in ([user(FIRST)], [user(FIRST), *step(1)], [user(FIRST), ANSWER, user(SECOND)]):
        assert "verify(password)" not in json.dumps(await chat.send(*asked)), chat.last.note
        assert "auth.py" not in {item.hit.chunk.path for item in chat.last.items}
    allow_again()
    # What was sent once is forgotten for good: the old question stays without.
    assert (await chat.send(user(FIRST), ANSWER, user(SECOND)))[0] == user(FIRST)


def write_settings(text: str) -> None:
    settings = user_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(text)


async def test_switching_off_in_the_persons_settings_forgets_everything(chat: Chat) -> None:
    await chat.send(user(FIRST))
    write_settings("ragEnabled = false\n")
    assert (await chat.send(user(FIRST), ANSWER, user(SECOND)))[0] == user(FIRST)
    assert chat.last.note == "off"
    write_settings("ragEnabled = true # again\n")
    assert (await chat.send(user(FIRST), ANSWER, user(SECOND)))[0] == user(FIRST)


async def test_where_access_cannot_be_checked_nothing_is_sent_again(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    one = await chat.send(user(FIRST))

    async def broken(*_: Any) -> Any:
        raise CarrelError("The index can't be read")

    monkeypatch.setattr(context_injector, "refused_paths", broken)
    assert (await chat.send(user(FIRST), *step(1)))[0] == user(FIRST)
    assert chat.last.note == "1 left out"
    monkeypatch.undo()
    assert (await chat.send(user(FIRST), *step(1)))[0] == one[0]


async def test_a_message_that_was_sent_bare_stays_bare(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    async def late(*arguments: Any) -> Any:
        answer = await context(*arguments)
        return replace(answer, pack=replace(answer.pack, text="", items=()), late=True)

    monkeypatch.setattr(context_injector, "context", late)
    assert await chat.send(user(FIRST)) == [user(FIRST)]
    assert chat.last.note == "late"
    monkeypatch.undo()
    assert (await chat.send(user(FIRST), *step(1)))[0] == user(FIRST)
    assert chat.last.note == "as before"
    assert (await chat.send(user(FIRST)))[0] != user(FIRST)  # nobody answered it yet: the next try may be better


async def test_the_oldest_context_goes_where_the_window_is_short(chat: Chat) -> None:
    one = await chat.send(user(FIRST))
    two = await chat.send(user(FIRST), ANSWER, user(SECOND))
    asked = [user(FIRST), ANSWER, user(SECOND), *step(1), {"role": "tool", "tool_call_id": "c9", "content": "x" * 4_000}]
    assert (await chat.send(*asked))[:3] == [one[0], ANSWER, two[2]]
    tokens = sum({id(sent): sent.tokens for sent, _, _ in chat.injector._memory._entries.values()}.values())
    needed = 1_024 + len(json.dumps({"model": "gpt-4o", "messages": asked})) // 3 + tokens  # the reply, the conversation, both

    async def with_window(window: int, *messages: dict[str, Any]) -> list[Any]:
        chat.injector._options = replace(chat.injector._options, window=window)
        return await chat.send(*messages)

    assert (await with_window(needed, *asked))[0] == one[0]
    three = await with_window(needed - 1, *asked)
    assert (three[0], three[2]) == (user(FIRST), two[2])
    assert chat.last.note.endswith(" remembered, 1 left out")
    assert (await with_window(needed - 1, *asked[:3]))[0] == user(FIRST)  # left out once, left out for good
    assert (await with_window(needed, *asked))[0] == one[0]  # a model with more room


async def test_the_audit_log_tells_a_repeated_context_from_a_new_one(chat: Chat) -> None:
    for asked in ([], step(1), [*step(1), *step(2)]):
        await chat.send(user(FIRST), *asked)
    chat.injector._session.composition.audit.close()  # type: ignore[union-attr]
    log = AuditTrail(Caller("library"))
    [(_, given)] = log.entries(kind="context")
    repeated = [dict(event.details) for _, event in log.entries(kind="repeated")]
    expected = {"ids": [given.details["id"]], "folder": str(chat.root), "packs": 1, "places": 1}
    assert [{name: entry[name] for name in expected} for entry in repeated] == [expected, expected]

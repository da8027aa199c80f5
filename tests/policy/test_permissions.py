"""Where text may go: the person's file and settings, asked for once."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from functools import partial
from operator import attrgetter
from pathlib import Path

import pytest

from carrel.composition.outbound import OutboundServices
from carrel.model.errors import CarrelError, NotAllowed
from carrel.model.outbound import Destination
from carrel.model.remote import Confirmation
from carrel.policy.consent import Consent, of_provider
from carrel.policy.permissions import PermissionFile
from carrel.settings.settings import Layer, Settings, resolve

OPENAI = Destination("openai", "api.openai.com")
OTHER_HOST = Destination("openai", "evil.example")


def test_nothing_is_allowed_but_this_machine_until_a_person_says_so(tmp_path: Path) -> None:
    permissions = PermissionFile(tmp_path / "deep" / "permissions.json")
    missing: list[Destination] = []
    permissions.on_missing = missing.append
    permissions.check(Destination("ollama", "localhost:11434"))
    with pytest.raises(NotAllowed):
        permissions.check(OPENAI)
    assert missing == [OPENAI]
    permissions.allow(OPENAI)
    permissions.check(OPENAI)
    assert not permissions.allows(OTHER_HOST)
    assert not permissions.allows(Destination("cohere", OPENAI.host))
    assert PermissionFile(tmp_path / "deep" / "permissions.json").allows(OPENAI), "it is kept"


def test_a_permission_that_another_process_gives_or_withdraws_counts_at_once(tmp_path: Path) -> None:
    here, there = (PermissionFile(tmp_path / "permissions.json") for _ in range(2))
    assert not here.allows(OPENAI)
    there.allow(OPENAI)
    assert here.allows(OPENAI)
    assert there.withdraw(OPENAI)
    assert not there.withdraw(OPENAI)
    assert not here.allows(OPENAI)


def test_changes_of_several_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "permissions.json"
    places = [[Destination("openai", f"{process}-{number}.example") for number in range(12)] for process in range(4)]
    start = threading.Barrier(len(places))

    def change(mine: list[Destination]) -> None:
        permissions = PermissionFile(path)  # as a process has it: nothing is shared but the files
        start.wait()
        for place in mine:
            permissions.allow(place)
        for place in mine[::2]:
            assert permissions.withdraw(place)

    threads = [threading.Thread(target=change, args=(mine,)) for mine in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {item.destination for item in PermissionFile(path).entries()}
    assert kept == {place for mine in places for place in mine[1::2]}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"providers": 3}', '{"providers": [{"provider": 1, "host": "x"}]}', "[" * 10**5]
)
def test_a_file_that_cannot_be_read_allows_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "permissions.json").write_text(text)
    permissions = PermissionFile(tmp_path / "permissions.json")
    assert permissions.entries() == ()
    permissions.allow(OPENAI)
    assert [row["host"] for row in json.loads((tmp_path / "permissions.json").read_text())["providers"]] == [OPENAI.host]


def test_a_permission_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CarrelError, match="can't be written"):
        PermissionFile(tmp_path / "file" / "permissions.json").allow(OPENAI)


def test_the_persons_own_file_may_allow_and_nothing_else_may(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    options = {"allowProviders": ["openai API.openai.com", "nonsense", "a b c"]}
    for layer, allowed in (
        (Layer("own", options, personal=True), True),
        (Layer("editor", options), False),
        (Layer(".carrel.toml", options, workspace=True), False),
    ):
        settings, problems = resolve(layer)
        permissions = PermissionFile(Path("nowhere/permissions.json"), partial(attrgetter("allow_providers"), settings))
        assert permissions.allows(OPENAI) is allowed
        assert bool(problems) is not allowed


def test_what_the_settings_allow_no_more_is_asked_no_more(tmp_path: Path) -> None:
    outbound = OutboundServices()
    outbound.permissions._path = tmp_path / "permissions.json"
    outbound.use(Settings(allow_providers=("openai api.openai.com",)))
    assert outbound.permissions.allows(OPENAI)
    outbound.use(Settings())
    assert not outbound.permissions.allows(OPENAI)


class Person:
    """Answers when told to."""

    def __init__(self, answer: bool | Exception) -> None:
        self.answer = answer
        self.questions: list[Confirmation] = []

    async def __call__(self, question: Confirmation) -> bool:
        self.questions.append(question)
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def test_a_person_is_asked_once_and_whoever_waits_is_told(tmp_path: Path) -> None:
    permissions, person, told = PermissionFile(tmp_path / "permissions.json"), Person(True), list[Destination]()
    consent = Consent(permissions, person, told.append)
    assert all(await asyncio.gather(consent.want(OPENAI), consent.want(OPENAI)))
    assert [question.details for question in person.questions] == [{"provider": "openai", "host": "api.openai.com"}]
    assert told == [OPENAI]
    assert permissions.allows(OPENAI)


@pytest.mark.parametrize("answer", [False, RuntimeError("the client is gone")])
async def test_a_no_and_a_fault_allow_nothing_and_are_not_asked_again_until_settings_change(
    tmp_path: Path, answer: bool | Exception
) -> None:
    permissions, person = PermissionFile(tmp_path / "permissions.json"), Person(answer)
    consent = Consent(permissions, person, lambda _: None)
    assert [await consent.want(OPENAI), await consent.want(OPENAI)] == [False, False]
    assert len(person.questions) == 1
    assert not permissions.allows(OPENAI)
    consent.forget()
    await consent.want(OPENAI)
    assert len(person.questions) == 2


def test_a_decision_is_named_by_all_that_is_decided() -> None:
    hashes = {of_provider(place).hash for place in (OPENAI, OTHER_HOST, Destination("cohere", OPENAI.host))}
    assert len(hashes) == 3
    assert of_provider(OPENAI).hash == of_provider(Destination("openai", "api.openai.com")).hash

"""Where keys are found, and that they are shown to nobody."""

from __future__ import annotations

import sys

import keyring
import pytest
from keyring.backends.fail import Keyring as NoBackend

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.outbound import Secret
from carrel.providers.keys import StandardKeys, keyring_get, keyring_remove, keyring_set


class Keyring:
    """A keyring in memory, as the package `keyring` offers one."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.broken = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(keyring, "get_keyring", lambda: self)
        monkeypatch.setattr(keyring, "get_password", self.get)
        monkeypatch.setattr(keyring, "set_password", lambda *pair: self.kept.__setitem__(pair[:2], pair[2]))
        monkeypatch.setattr(keyring, "delete_password", lambda *name: self.kept.pop(name))

    def get(self, *name: str) -> str | None:
        if self.broken:
            raise RuntimeError("locked, and it says sk-planted")
        return self.kept.get((name[0], name[1]))


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    made = Keyring()
    made.install(monkeypatch)
    return made


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("", "usual"),
        ("env:OTHER", "other"),
        ("env:GONE", None),
        ("env:BLANK", None),
        ("keyring", "kept"),
        ("editor", None),
        ("none", None),
    ],
)
def test_a_key_is_found_in_the_place_that_is_named(ring: Keyring, place: str, found: str | None) -> None:
    ring.kept["carrel", "openai"] = "kept"
    keys = StandardKeys({"OPENAI_API_KEY": "usual", "OTHER": " other\n", "BLANK": " "})
    key = keys.find("openai", place)
    assert (key.reveal() if key else None) == found


def test_without_a_place_the_editor_comes_first_then_the_usual_variable_then_the_keyring(ring: Keyring) -> None:
    ring.kept["carrel", "openai"] = "kept"
    environment = {"OPENAI_API_KEY": "usual"}
    keys = StandardKeys(environment)
    keys.give("openai", Secret("of the editor"))
    seen = [keys.find("openai", "")]
    keys.give("openai", None)
    seen.append(keys.find("openai", ""))
    del environment["OPENAI_API_KEY"]
    seen.append(keys.find("openai", ""))
    ring.kept.clear()
    assert seen == [Secret("of the editor"), Secret("usual"), Secret("kept")]
    assert keys.find("openai", "") is None


def test_a_keyring_is_filled_and_emptied(ring: Keyring) -> None:
    keyring_set("cohere", Secret("sk"))
    assert keyring_get("cohere", required=True) == Secret("sk")
    assert keyring_remove("cohere")
    assert not keyring_remove("cohere")


def test_a_keyring_that_fails_is_told_where_it_is_named_and_passed_over_elsewhere(ring: Keyring) -> None:
    ring.broken = True
    keys = StandardKeys({})
    assert keys.find("openai", "") is None
    with pytest.raises(ProviderError, match=r"can't be read \(RuntimeError\)") as raised:
        keys.find("openai", "keyring")
    assert "sk-planted" not in str(raised.value)


def test_without_the_package_the_remedy_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert StandardKeys({}).find("openai", "") is None
    with pytest.raises(ProviderError, match=r'pip install "keyring>='):
        StandardKeys({}).find("openai", "keyring")


def test_without_a_keyring_on_the_machine_the_remedy_is_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", NoBackend)
    with pytest.raises(ProviderError, match="env:NAME"):
        keyring_set("openai", Secret("sk"))


def test_a_place_that_is_none_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidInput) as raised:
        StandardKeys({}).find("openai", "sk-planted")
    assert "sk-planted" not in str(raised.value)

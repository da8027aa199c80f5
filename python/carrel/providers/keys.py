"""Where the keys of providers are kept: the environment, the system's keyring (extra `keyring`), or the editor.

A key is looked up when a request needs it and never written to a settings file. The editor hands its keys over after it
has started the server; they live in this process only.
"""

# ruff: noqa: PLC0415 - the keyring asks the system's services when it is imported
from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from types import ModuleType

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Secret

KEYRING_SERVICE = "carrel"
VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "helicone": "HELICONE_API_KEY",
    "cohere": "COHERE_API_KEY",
    "jina": "JINA_API_KEY",
    "voyage": "VOYAGE_API_KEY",
    "qdrant": "QDRANT_API_KEY",
    "team": "CARREL_TEAM_SECRET",
}
"""The environment variable that each provider's own programs read."""
_NO_KEYRING = ("There is no keyring on this machine", 'Keep the key in an environment variable: `key = "env:NAME"`.')


class StandardKeys:
    """Finds keys in the places that a person may name, and keeps those of the editor."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._editor: dict[str, Secret] = {}
        self._lock = threading.Lock()

    def find(self, provider: str, place: str = "") -> Secret | None:
        """Return a provider's key, or None. "" looks into the editor's keys, the provider's usual variable, then the keyring."""
        if place.startswith("env:"):
            return self._variable(place.removeprefix("env:"))
        match place:
            case "":
                return self._of_editor(provider) or self._usual(provider) or keyring_get(provider, required=False)
            case "editor":
                return self._of_editor(provider)
            case "keyring":
                return keyring_get(provider, required=True)
            case "none":
                return None
        raise InvalidInput("key", "is no place for a key", "Use `env:NAME`, `keyring`, `editor` or `none`.")

    def give(self, provider: str, key: Secret | None) -> None:
        """Keep a key that the editor handed over, or forget it."""
        with self._lock:
            if key is None:
                self._editor.pop(provider, None)
            else:
                self._editor[provider] = key

    def _of_editor(self, provider: str) -> Secret | None:
        with self._lock:
            return self._editor.get(provider)

    def _usual(self, provider: str) -> Secret | None:
        name = VARIABLES.get(provider)
        return self._variable(name) if name else None

    def _variable(self, name: str) -> Secret | None:
        value = self._environment.get(name, "").strip()
        return Secret(value) if value else None


def keyring_get(provider: str, *, required: bool) -> Secret | None:
    """Return the key that the system's keyring holds. Raises `ProviderError` where it can't be asked and is `required`."""
    try:
        module = _required_keyring()
    except ProviderError:
        if required:
            raise
        return None
    try:
        value = module.get_password(KEYRING_SERVICE, provider)
    except Exception as error:
        if required:
            raise ProviderError(f"The keyring can't be read ({type(error).__name__})", _NO_KEYRING[1]) from None
        return None
    return Secret(value) if value else None


def keyring_set(provider: str, key: Secret) -> None:
    """Keep a key in the system's keyring. Raises `ProviderError`."""
    module = _required_keyring()
    try:
        module.set_password(KEYRING_SERVICE, provider, key.reveal())
    except Exception as error:
        raise ProviderError(f"The keyring doesn't take the key ({type(error).__name__})", _NO_KEYRING[1]) from None


def keyring_remove(provider: str) -> bool:
    """Delete a provider's key; tell whether there was one. Raises `ProviderError`."""
    if keyring_get(provider, required=True) is None:
        return False
    module = _required_keyring()
    try:
        module.delete_password(KEYRING_SERVICE, provider)
    except Exception as error:
        raise ProviderError(f"The keyring doesn't delete the key ({type(error).__name__})", _NO_KEYRING[1]) from None
    return True


def _required_keyring() -> ModuleType:
    """Return the package that talks to the system's keyring. Raises `ProviderError` where it or a keyring is missing."""
    try:
        import keyring
        from keyring.backends.fail import Keyring as NoBackend
    except ImportError:
        raise ProviderError(
            "The system's keyring can't be used without the package `keyring`",
            f"Keep the key in an environment variable, or install it: {how_to_install('keyring')}",
        ) from None
    if isinstance(keyring.get_keyring(), NoBackend):
        raise ProviderError(*_NO_KEYRING)
    module: ModuleType = keyring
    return module

"""Ask a person whether text may go somewhere, once a session for each destination, without holding up whoever wanted it.

A front end that reaches a person gives the asking; the others (MCP, the proxies, a hook) give none, and what wasn't allowed
before stays forbidden.

A person is shown all that they decide about: what is too long for a dialog or a screen is in a file that they can read in full.
What runs is what was asked about, not what the file says later: its hash is in the question, and compared before the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from carrel.model.errors import CarrelError, ProviderError, place_of
from carrel.model.kinds import PLUGIN
from carrel.model.outbound import Destination
from carrel.model.remote import Confirm, Confirmation
from carrel.policy.permissions import PermissionFile

_MOST_SHOWN = 1_500
"""Characters of all details: dialogs of editors can't be scrolled."""
_MOST_OF_ONE = 300
IN_FULL = "in full"
"""The detail that names the file."""


@contextmanager
def whole_question(question: Confirmation) -> Iterator[Confirmation]:
    """Give the question as it can be shown; a file with all of it, where one is needed, lasts as long as the block.

    Raises `ProviderError` where it can't be written: nobody may agree to what they can't see.
    """
    if sum(map(len, question.details.values())) <= _MOST_SHOWN:
        yield question
        return
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="carrel-confirm-"))  # for the person's own eyes
        path = folder / f"{question.what}-{question.hash[:16]}.txt"
        path.write_text(_written(question), "utf-8")
        details = {IN_FULL: str(path), **{name: _short(value) for name, value in question.details.items()}}
        yield replace(question, details=details)
    except OSError as error:
        raise ProviderError(f"What you are asked about can't be shown in full ({error.strerror or error})") from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _written(question: Confirmation) -> str:
    details = (f"=== {name} ===\n{value}" for name, value in question.details.items())
    parts = [f"{question.risk}.", f"Decision {question.hash}", *details]
    return visible("\n\n".join(parts)) + "\n"


def _short(text: str) -> str:
    """Return the beginning and the end of a text: an order may hide at either."""
    half = _MOST_OF_ONE // 2
    return text if len(text) <= _MOST_OF_ONE else f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"


def visible(text: str) -> str:
    """Return a text in which nothing acts on a terminal or hides: all but lines and tabs is shown as it is spelled in code."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


log = logging.getLogger(__name__)


_OF_MODELS = "Text of your code and of your questions leaves this machine"
_OF_STORES = (
    "Vectors of your code and of your questions leave this machine, with the paths and names of what they are of: "
    "much of the code can be guessed from them"
)
_OF_TEAMS = (
    "Vectors of your code leave this machine, encrypted: whoever has your team's secret can read them, and guess much of the "
    "code from them"
)
_RISKS = {"qdrant": _OF_STORES, "team": _OF_TEAMS}


def of_provider(destination: Destination) -> Confirmation:
    """Return the question whether text may be sent to a provider."""
    return Confirmation(
        "provider",
        _OF_STORES if destination.provider.startswith(PLUGIN) else _RISKS.get(destination.provider, _OF_MODELS),
        {"provider": destination.provider, "host": destination.host},
        hashlib.sha256(f"provider\0{destination.provider}\0{destination.host}".encode("utf-8", "replace")).hexdigest()[:32],
    )


class Consent:
    """Asks for what is missing. Used on the event loop."""

    def __init__(self, permissions: PermissionFile, ask: Confirm, on_allowed: Callable[[Destination], None]) -> None:
        """Take who asks the person, and who is told when something was allowed."""
        self._permissions = permissions
        self._ask = ask
        self._on_allowed = on_allowed
        self._pending: dict[Destination, asyncio.Task[bool]] = {}

    def want(self, destination: Destination) -> asyncio.Task[bool]:
        """Begin to ask, unless this was asked before; a later request for the same gets the same answer."""
        task = self._pending.get(destination)
        if task is None:
            task = self._pending[destination] = asyncio.get_running_loop().create_task(self._decide(destination))
        return task

    def forget(self) -> None:
        """Ask again for what was declined: the person changed their settings."""
        self._pending = {destination: task for destination, task in self._pending.items() if not task.done()}

    async def _decide(self, destination: Destination) -> bool:
        try:
            if not await self._ask(of_provider(destination)):
                return False
            self._permissions.allow(destination)
        except CarrelError as error:
            log.warning("The permission for %s was not kept: %s", destination, error)
            return False
        except Exception as error:
            log.warning("Nobody could be asked about %s: %s at %s", destination, type(error).__name__, place_of(error))
            return False
        self._on_allowed(destination)
        return True

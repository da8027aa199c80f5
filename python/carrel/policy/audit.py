"""Record what was given to whom: one entry of the audit log for each request, tool call and message to a remote service.

An entry has places, scores, and hashes and sizes of texts; the texts themselves only where the person asks for them. Nothing
here raises: a request isn't broken by its record.
"""

# ruff: noqa: PLC0415 - the log is opened by what is recorded first, so that the server starts at once
from __future__ import annotations

import getpass
import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from carrel.model.caller import Caller, current_caller
from carrel.model.errors import InvalidInput, place_of
from carrel.model.kinds import AUDIT_KINDS, AuditKind
from carrel.model.outbound import Destination, Hold, Load, Meter
from carrel.model.ports import AuditEvent, AuditLog
from carrel.settings.allow_settings import AuditSettings

if TYPE_CHECKING:
    from carrel.agent.agent_steps import Event
    from carrel.agent.ask import Answered
    from carrel.model.types import ContextItem, Hit
    from carrel.policy.audit_log import AuditLimits, SqliteAuditLog
    from carrel.service.context_request import ContextAnswer, ContextRequest

log = logging.getLogger(__name__)

_MOST_PLACES = 50

Entry: TypeAlias = tuple[int, AuditEvent]
"""An event and its number in the log."""


def audit_file() -> Path:
    """Return where the audit log is."""
    import platformdirs

    return platformdirs.user_data_path("carrel", appauthor=False) / "audit.sqlite"


def open_log(settings: Callable[[], AuditSettings]) -> SqliteAuditLog:
    """Return the person's audit log. Nothing is opened before it is used."""
    from carrel.policy.audit_log import AuditLimits, SqliteAuditLog

    def limits() -> AuditLimits:
        now = settings()
        return AuditLimits(now.days, int(now.megabytes * 1_000_000))

    return SqliteAuditLog(audit_file(), limits)


class AuditTrail:
    """Turns what a front end does into entries. Without a log, and with the setting off, nothing is recorded."""

    def __init__(self, caller: Caller, log: AuditLog | None = None) -> None:
        """Take the caller of all that names none of its own, and the log if it shall not be the person's own."""
        self.caller = caller
        self.settings = AuditSettings()
        self._log = log

    @property
    def problem(self) -> str | None:
        """Return why nothing can be written at the moment, if so."""
        return getattr(self._log, "problem", None)

    @property
    def current(self) -> Caller:
        """Return who asked for what is being done."""
        return current_caller() or self.caller

    def context(self, request: ContextRequest, answer: ContextAnswer, root: str | Mapping[str, str]) -> None:
        """Record what was selected for a chat turn, and why. `root` has the roots of several folders by their names."""
        pack = answer.pack
        self._record(
            "context",
            lambda: {
                "id": pack.id,
                **_where(root),
                "question": self.hashed(request.query),
                "trigger": request.trigger,
                "given": self.hashed(pack.text),
                "tokens": pack.tokens,
                "places": [self._place(item.hit, item) for item in pack.items[:_MOST_PLACES]],
                "dropped": len(pack.dropped),
                "failed": answer.error is not None,
            },
        )

    def repeated(self, packs: Sequence[str], places: int, root: str) -> None:
        """Record that packs were put before the same messages as before: their places are in the entries of their ids."""
        self._record(
            "repeated", lambda: {"ids": list(packs[-_MOST_PLACES:]), "folder": root, "packs": len(packs), "places": places}
        )

    def search(self, question: str, hits: Sequence[Hit], root: str | Mapping[str, str]) -> None:
        """Record what an explicit question found. `root` has the roots of several folders by their names."""
        self._record(
            "search",
            lambda: {
                **_where(root),
                "question": self.hashed(question),
                "places": [self._place(hit) for hit in hits[:_MOST_PLACES]],
            },
        )

    def step_recorder(self, tell: Callable[[Event], None], root: str) -> Callable[[Event], None]:
        """Record the tool calls among the steps of an answer, and pass all on."""
        from carrel.agent.agent_steps import ToolFinished

        def both(event: Event) -> None:
            if isinstance(event, ToolFinished):
                result = event.result
                self.tool(event.name, event.arguments, result.text, root, failed=result.is_error, ms=event.milliseconds)
            tell(event)

        return both

    def tool(
        self, name: str, arguments: Mapping[str, Any], result: str, root: str = "", *, failed: bool = False, ms: float = 0.0
    ) -> None:
        """Record one call of a tool by a model or a client."""
        self._record(
            "tool",
            lambda: {
                "tool": name,
                "folder": root,
                "arguments": self.hashed(json.dumps(arguments, default=str, sort_keys=True)),
                "result": self.hashed(result),
                "failed": failed,
                "ms": ms,
            },
        )

    def answer(self, model: str, answered: Answered, root: str) -> None:
        """Record what a chat model answered."""
        checked, usage = answered.checked, answered.usage
        self._record(
            "answer",
            lambda: {
                "folder": root,
                "model": model,
                "text": self.hashed(answered.text),
                "citations": {"given": len(checked.citations), "unsupported": len(checked.unsupported)},
                "prompt_tokens": usage.prompt_tokens,
                "answer_tokens": usage.answer_tokens,
            },
        )

    def sent(self, destination: Destination, load: Load) -> None:
        """Record one message to a service."""
        self._record(
            "sent",
            lambda: {
                "provider": destination.provider,
                "host": destination.host,
                "texts": load.texts,
                "chars": load.characters,
                "tokens": load.tokens,
                "dollars": load.dollars,
                "requests": load.requests,
            },
        )

    def permission(self, destination: Destination, *, allowed: bool) -> None:
        """Record what a person decided about a destination."""
        self._record("permission", lambda: {"provider": destination.provider, "host": destination.host, "allowed": allowed})

    def event(self, kind: Literal["tools", "pipeline", "refused"], details: Mapping[str, Any]) -> None:
        """Record anything else; its texts went through `hashed`."""
        self._record(kind, lambda: details)

    def hashed(self, text: str) -> dict[str, Any]:
        """Return what an entry says of a text: hash and size, and the text itself where the setting asks for it."""
        entry: dict[str, Any] = {"hash": _hash(text), "chars": len(text)}
        return {**entry, "text": text} if self.settings.texts else entry

    def metered(self, meter: Meter) -> Meter:
        """Return the meter with a record of each message that leaves."""
        return _RecordingMeter(meter, self)

    def entries(self, since: float | None = None, kind: str | None = None, limit: int | None = None) -> list[Entry]:
        """Return the newest entries and their numbers, the newest first. Raises `StoreError` and `InvalidInput`."""
        if kind is not None and kind not in AUDIT_KINDS:
            raise InvalidInput("kind", "is no kind of entry", f"There are {', '.join(AUDIT_KINDS)}.", value=kind)
        self.close()
        entries = open_log(lambda: self.settings).entries(since=since, kind=kind, limit=limit)
        return [(entry.number, entry.event) for entry in entries]

    def close(self) -> None:
        """Have everything written, within two seconds. May be used again afterwards."""
        flush = getattr(self._log, "flush", None)
        if flush is not None:
            flush()

    def _place(self, hit: Hit, item: ContextItem | None = None) -> dict[str, Any]:
        chunk, signals = hit.chunk, hit.signals
        span = chunk.span
        runs = item.runs if item else ((span.start_line, span.end_line),)
        lines, text = [runs[0][0], runs[-1][1]], item.text if item else chunk.text
        place: dict[str, Any] = {"path": chunk.path, "lines": lines, "hash": _hash(text)}
        why: dict[str, Any] = {"score": round(hit.score, 4), "dense": signals.dense, "lexical": signals.lexical}
        why |= {"rules": dict(signals.boosts), "matched": len(signals.matched)}
        if self.settings.texts:
            why["words"] = list(signals.matched)
        return place | why

    def _record(self, kind: AuditKind, details: Callable[[], Mapping[str, Any]]) -> None:
        if not self.settings.enabled:
            return
        try:
            if self._log is None:
                self._log = open_log(lambda: self.settings)
            self._log.record(AuditEvent(kind, time.time(), _user(), {"caller": str(self.current), **details()}))
        except Exception as error:
            # Not the error itself: its message may quote what was being recorded.
            log.error(  # noqa: TRY400
                "Nothing was recorded of this request: %s at %s", type(error).__name__, place_of(error)
            )


class _RecordingMeter:
    """Counts as another does, and records what left the machine."""

    def __init__(self, meter: Meter, trail: AuditTrail) -> None:
        self._meter = meter
        self._trail = trail

    async def admit(self, destination: Destination, load: Load) -> Hold:
        return await self._meter.admit(destination, load)

    def give_back(self, destination: Destination, hold: Hold) -> None:
        self._meter.give_back(destination, hold)

    def record(self, destination: Destination, load: Load) -> None:
        self._meter.record(destination, load)
        self._trail.sent(destination, load)

    def failed(self, destination: Destination, reason: str) -> None:
        self._meter.failed(destination, reason)


def _where(root: str | Mapping[str, str]) -> dict[str, Any]:
    """Return the folder of an entry; of several, whose paths begin with a name, the root by each name."""
    return {"folder": root} if isinstance(root, str) else {"folders": dict(root)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@lru_cache(1)
def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no name for this user id, or none in the environment (Windows)
        return "unknown"

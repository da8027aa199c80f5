"""Keep where a person allowed text to go (by a dialog or `carrel confirm`, in their own data folder, or by their settings file),
and tell who may do what by their setting `allow`. Each refusal of the latter is in the audit log.

Nothing that comes with a project can add to it, and neither MCP nor a proxy's caller has a way here. A program that runs as
the same user can write the file, as it can read the code itself: docs/security.md says so.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from carrel.model.errors import CarrelError, NotAllowed, NotPermitted
from carrel.model.outbound import Destination
from carrel.settings.allow_settings import AllowSettings, Right, key_of
from carrel.system.filesystem import locked, private_folder, replace_file

if TYPE_CHECKING:
    from carrel.policy.audit import AuditTrail

log = logging.getLogger(__name__)
_LOCK_SECONDS = 10.0
"""How long a change waits for that of another process."""


def permissions_file() -> Path:
    """Return where permissions are kept."""
    import platformdirs  # noqa: PLC0415 - not every start needs it

    return platformdirs.user_data_path("carrel", appauthor=False) / "permissions.json"


class Permission(Struct, frozen=True):
    """A destination that a person allowed; `at` in Unix seconds, 0 where their settings file does."""

    destination: Destination
    at: float = 0.0


class PermissionFile:
    """Permissions as they stand now: another process may add one at any moment."""

    def __init__(self, path: Path | None = None, allowed: Callable[[], tuple[str, ...]] = tuple) -> None:
        """Take the file, and the setting `allowProviders` as a function."""
        self._path = path
        self._allowed = allowed
        self.on_missing: Callable[[Destination], None] = lambda _: None
        """Told of what was asked for and isn't allowed, on any thread."""
        self._lock = threading.Lock()
        self._read: tuple[tuple[int, int] | None, tuple[Permission, ...]] = (None, ())

    def check(self, destination: Destination) -> None:
        """Raise `NotAllowed` unless text may go there."""
        if not self.allows(destination):
            self.on_missing(destination)
            raise NotAllowed(destination.provider, destination.host)

    def allows(self, destination: Destination) -> bool:
        """Tell whether text may go there. This machine itself needs no permission."""
        return destination.local or any(item.destination == destination for item in self.entries())

    def entries(self) -> tuple[Permission, ...]:
        """Return all that is allowed, those of the settings first."""
        return (*_of_settings(self._allowed()), *self._of_file())

    def allow(self, destination: Destination) -> None:
        """Keep what a person said. Raises `CarrelError` where it can't be kept."""
        with self._changing():
            others = [item for item in self._of_file() if item.destination != destination]
            self._write([*others, Permission(destination, time.time())])

    def withdraw(self, destination: Destination) -> bool:
        """Forget a permission; tell whether there was one in the file. Raises `CarrelError`."""
        with self._changing():
            kept = self._of_file()
            others = [item for item in kept if item.destination != destination]
            if len(others) < len(kept):
                self._write(others)
            return len(others) < len(kept)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Let nobody else change the file between reading and writing it."""
        path = self._file()
        with self._lock, contextlib.ExitStack() as held:
            try:
                private_folder(path.parent)
                alone = held.enter_context(locked(path.with_suffix(".lock"), _LOCK_SECONDS, pause=0.01))
            except OSError as error:
                raise CarrelError(f"{path} can't be written ({error.strerror or error})", "Make its folder writable.") from None
            if not alone:
                raise CarrelError(f"{path} is being changed by another process", "Try again.")
            self._read = (None, ())  # a change of the same size and moment has the same stamp
            yield

    def _file(self) -> Path:
        if self._path is None:
            self._path = permissions_file()
        return self._path

    def _of_file(self) -> tuple[Permission, ...]:
        path = self._file()
        try:
            status = path.stat()
        except OSError:
            return ()
        stamp = (status.st_mtime_ns, status.st_size)
        if self._read[0] != stamp:
            try:
                self._read = (stamp, _decode(json.loads(path.read_text("utf-8"))))
            except (OSError, ValueError, RecursionError) as error:
                log.warning("%s can't be read, so nothing in it counts as allowed: %s", path, type(error).__name__)
                return ()
        return self._read[1]

    def _write(self, permissions: list[Permission]) -> None:
        path = self._file()
        rows = [{"provider": it.destination.provider, "host": it.destination.host, "at": it.at} for it in permissions]
        try:
            replace_file(path, json.dumps({"version": 1, "providers": rows}, indent=1).encode())
        except OSError as error:
            raise CarrelError(f"{path} can't be written ({error.strerror})", "Make its folder writable.") from None
        self._read = (None, ())


def _of_settings(items: tuple[str, ...]) -> tuple[Permission, ...]:
    pairs = (item.split() for item in items)
    return tuple(Permission(Destination(pair[0], pair[1].lower())) for pair in pairs if len(pair) == 2)


def _decode(raw: Any) -> tuple[Permission, ...]:
    rows = raw.get("providers", ()) if isinstance(raw, dict) else ()
    permissions = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("provider"), str) and isinstance(row.get("host"), str):
            at = row.get("at")
            destination = Destination(row["provider"], row["host"])
            permissions.append(Permission(destination, float(at) if isinstance(at, int | float) else 0.0))
    return tuple(permissions)


_CALLERS = {"editor": "Editors", "mcp": "MCP clients", "proxy": "Callers of a proxy"}
_ACTS: dict[Right, str] = {
    "search": "search the workspace",
    "sources": "read the sources beside the workspace",
    "tools": "use the tools of the catalogue",
    "run": "run tools that are more than safe",
}


def permits(right: Right, allow: AllowSettings, trail: AuditTrail | None) -> bool:
    """Return whether the caller of this moment has a right. Without a trail the library is the caller."""
    return trail is None or right in allow.of(trail.current.entry)


def require(right: Right, allow: AllowSettings, trail: AuditTrail | None) -> None:
    """Raise `NotPermitted` where the caller of this moment lacks a right."""
    if trail is None or permits(right, allow, trail):
        return
    key = key_of(trail.current.entry)
    trail.event("refused", {"right": right})
    raise NotPermitted(
        f"{_CALLERS.get(key, 'Commands')} may not {_ACTS[right]}: the setting `allow.{key}` doesn't name `{right}`",
        "If you want it, add it there, in settings.toml in Carrel's folder of your configuration.",
    )

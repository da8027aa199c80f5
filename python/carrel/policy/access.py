"""Who may do what: the one place that compares a caller with the person's setting `allow`. Each refusal is in the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from carrel.model.errors import NotPermitted
from carrel.settings.allow_settings import AllowSettings, Right, key_of

if TYPE_CHECKING:
    from carrel.policy.audit import AuditTrail

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

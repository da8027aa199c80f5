"""What travels about the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages.question_messages import FolderParams


class AuditParams(FolderParams, kw_only=True, frozen=True):
    """`carrel/audit`: what was given to whom, the newest first."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 50
    since: Annotated[str | None, Meta(description="A span such as `12h` or `7d`, or a date.")] = None
    kind: Annotated[
        str | None, Meta(description="Only `context`, `search`, `tool`, `answer`, `sent` or `permission`, for example.")
    ] = None


class AuditEntry(Wire, kw_only=True, frozen=True):
    """One entry of the log."""

    number: int
    at: Annotated[str, Meta(description="ISO 8601, UTC.")]
    kind: str
    user: str
    details: Annotated[dict[str, Any], Meta(description="Places, scores, hashes and sizes; docs/audit.md has the fields.")]


class AuditResult(Wire, kw_only=True, frozen=True):
    """The newest entries of the log, which all of the person's programs share."""

    entries: tuple[AuditEntry, ...]
    enabled: Annotated[bool, Meta(description="Whether anything is recorded at the moment.")]
    problem: Annotated[str | UnsetType, Meta(description="Why nothing can be written at the moment.")] = UNSET

"""The setting `audit`: whether and for how long it is recorded what was given to whom."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from carrel.settings.setting_checks import decode_object


class AuditSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is recorded, and how long it is kept."""

    enabled: Annotated[bool, Meta(description="Record at all.")] = True
    days: Annotated[float, Meta(ge=0.01, le=3650, description="Entries are kept for so many days.")] = 30.0
    megabytes: Annotated[float, Meta(ge=0.1, le=100_000, description="The oldest entries of a larger log go.")] = 50.0
    texts: Annotated[
        bool, Meta(description="Record questions, arguments and results themselves, not only their hashes and sizes.")
    ] = False


def read_audit(raw: object) -> AuditSettings:
    """Read the setting. Raises `ValueError`."""
    return decode_object(raw, AuditSettings)

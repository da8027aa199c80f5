"""The setting `allow`: who may do what, by the way that a request comes in. It counts in the person's own settings file only.

The setting `audit`: whether and for how long it is recorded what was given to whom.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from carrel.model.caller import Entry


class AuditSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is recorded, and how long it is kept."""

    enabled: Annotated[bool, Meta(description="Record at all.")] = True
    days: Annotated[float, Meta(ge=0.01, le=3650, description="Entries are kept for so many days.")] = 30.0
    megabytes: Annotated[float, Meta(ge=0.1, le=100_000, description="The oldest entries of a larger log go.")] = 50.0
    texts: Annotated[
        bool, Meta(description="Record questions, arguments and results themselves, not only their hashes and sizes.")
    ] = False


Right = Literal["search", "sources", "tools", "run"]
"""search: ask the workspace's index; sources: what lies beside the workspace; tools: be told of the person's tools, and run safe
ones; run: run moderate ones. Dangerous ones wait for the person, whoever asks."""

Rights = tuple[Right, ...]
_ALL: Rights = ("search", "sources", "tools", "run")


class AllowSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The rights of each caller."""

    editor: Annotated[Rights, Meta(description="Editors, by the language server.")] = _ALL
    mcp: Annotated[Rights, Meta(description="MCP clients.")] = _ALL
    proxy: Annotated[Rights, Meta(description="Callers of the chat proxy, chats behind the Copilot proxy, agents' hooks.")] = (
        "search",
        "sources",
    )
    command_line: Annotated[Rights, Meta(description="`carrel` in a terminal.")] = _ALL

    def of(self, entry: Entry) -> Rights:
        """Return what may be done by this way. A program that uses the library decides for itself."""
        key = _KEYS.get(entry)
        rights: Rights = getattr(self, key.name) if key else _ALL
        return rights


_FIELDS = {field.name: field for field in msgspec.structs.fields(AllowSettings)}
_KEYS = {
    "editor": _FIELDS["editor"],
    "mcp": _FIELDS["mcp"],
    "chat proxy": _FIELDS["proxy"],
    "copilot proxy": _FIELDS["proxy"],
    "agent hook": _FIELDS["proxy"],
    "command line": _FIELDS["command_line"],
}


def key_of(entry: Entry) -> str:
    """Return the name of a caller in the setting."""
    return _KEYS[entry].encode_name

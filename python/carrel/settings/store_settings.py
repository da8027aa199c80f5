"""The settings `store` and `team`: where vectors are kept, and where a team keeps those that were paid for.

A workspace can set neither: whoever clones a repository must not have vectors of their code sent or put anywhere by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from carrel.model.kinds import KINDS
from carrel.model.patterns import is_name
from carrel.settings.setting_checks import check_key_place, check_url, decode_object, described
from carrel.system.plugins import plugins


class StoreSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where vectors are kept and searched."""

    kind: Annotated[
        str,
        described(
            "`segments` is the index itself; `lancedb` and `qdrant` need the extra of their name; "
            "packages that are installed beside Carrel may offer more."
        ),
    ] = "segments"
    url: Annotated[
        str,
        described(
            "Of Qdrant a server's, `https://…`; empty for one that Carrel runs on this machine. Of a package's store a "
            "service's, if it has one."
        ),
    ] = ""
    key: Annotated[str, described("Where Qdrant's key is: `env:NAME`, `keyring`, `editor` or `none`; empty looks into each.")] = (
        ""
    )
    collection: Annotated[str, described("The name of Qdrant's collection or LanceDB's table, in place of `carrel-…`.")] = ""
    content: Annotated[
        bool | None,
        described("Whether chunks are kept there with their text. Empty: on this machine with it, elsewhere without."),
    ] = None
    program: Annotated[
        str, described("Qdrant's program on this machine, where Carrel shall not look for one. Only in your own settings file.")
    ] = ""


def read_store(raw: object) -> StoreSettings:
    """Read the setting `store`: an object, or the name of a kind alone. Raises `ValueError` that says what is wrong where."""
    raw = {"kind": raw} if isinstance(raw, str) else raw
    store = decode_object(raw, StoreSettings)
    check_key_place("key", store.key)
    if store.kind not in KINDS and store.kind not in plugins():
        raise ValueError(
            f'kind: there is no store "{store.kind}" that one package alone offers; there are: {", ".join((*KINDS, *plugins()))}'
        )
    if store.url and store.kind in ("segments", "lancedb"):
        raise ValueError(f"url: {store.kind} is on this machine and has none")
    check_url("url", store.url)
    return store


class TeamSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The team's cache of vectors. Without `url` and `folder` there is none."""

    url: Annotated[str, Meta(description="Of the team's Qdrant server, such as `https://qdrant.example.com:6333`.")] = ""
    folder: Annotated[str, Meta(description="A folder that the team shares, in place of a server; its absolute path.")] = ""
    collection: Annotated[str, Meta(description="The name of Qdrant's collection, or of the folder inside `folder`.")] = (
        "carrel-team"
    )
    key: Annotated[
        str,
        Meta(description="Where the key of Qdrant is: `env:NAME`, `keyring`, `editor` or `none`; empty looks into each."),
    ] = ""
    secret: Annotated[
        str,
        Meta(
            description="Where the team's secret is, likewise; empty looks into the editor's keys, `CARREL_TEAM_SECRET` and the "
            "keyring."
        ),
    ] = ""

    @property
    def used(self) -> bool:
        """Tell whether there is one."""
        return bool(self.url or self.folder)


def read_team(raw: object) -> TeamSettings:
    """Read the setting `team`. Raises `ValueError` that says what is wrong where."""
    team = decode_object(raw, TeamSettings)
    check_key_place("key", team.key)
    check_key_place("secret", team.secret)
    if team.secret == "none":  # noqa: S105 - a place
        raise ValueError("secret: a team's cache can't be used without one")
    check_url("url", team.url)
    if team.url and team.folder:
        raise ValueError("folder: give either `url` or `folder`")
    if team.folder and not Path(team.folder).expanduser().is_absolute():
        raise ValueError("folder: must be an absolute path")
    if not is_name(team.collection, 80):
        raise ValueError("collection: must be letters, digits, - and _")
    return team

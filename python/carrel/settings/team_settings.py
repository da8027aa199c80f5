"""The setting `team`: where a team keeps the vectors that one of them has paid for.

Only the person's own settings file counts: a project must not name a folder or a server that vectors are put on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from carrel.model.patterns import lazy_pattern
from carrel.settings.setting_checks import check_key_place, check_url, decode_object

_COLLECTION = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


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
    if not _COLLECTION.fullmatch(team.collection):
        raise ValueError("collection: must be letters, digits, - and _")
    return team

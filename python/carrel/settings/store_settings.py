"""The setting `store`: where vectors are kept and searched besides the index itself.

A workspace can set none of it: whoever clones a repository must not have vectors of their code sent anywhere by it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from carrel.model.store_kinds import KINDS
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
    check_url("url", store.url)
    if store.url and store.kind in ("segments", "lancedb"):
        raise ValueError(f"url: {store.kind} is on this machine and has none")
    return store

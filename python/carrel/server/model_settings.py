"""The settings of models: which provider and model answers for each role, and the limits of what may be asked of it.

A workspace can set none of it: whoever clones a repository must not have their code sent anywhere by it.
"""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from carrel.core.errors import InvalidInput
from carrel.core.structs import decode


def _described(text: str, **limits: Any) -> Meta:
    return Meta(description=text, **limits)


class ModelSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One model. What is empty or 0 is the provider's own."""

    provider: Annotated[
        str, _described("Who offers it, as `carrel models list` names it. Empty for none, or for the bundled embedder.")
    ] = ""
    model: Annotated[str, _described("Its name there.")] = ""
    base_url: Annotated[str, _described("Where it is asked, such as `http://localhost:11434/v1`.")] = ""
    key: Annotated[
        str,
        _described(
            "Where its key is: `env:NAME`, `keyring`, `editor` or `none`; never the key itself. Empty looks into the editor's "
            "keys, the provider's usual variable, and the keyring."
        ),
    ] = ""
    token_url: Annotated[
        str, _described("Where GitHub Copilot's sign-in is exchanged for a session token, for an enterprise's own host.")
    ] = ""
    dimensions: Annotated[int, _described("Numbers of a vector, where the model lets one choose.", ge=0, le=16_384)] = 0
    floor: Annotated[float, _described("The cosine below which a hit is noise.", ge=0, le=1)] = 0.0
    max_texts: Annotated[int, _described("Texts of one request at most.", ge=0, le=10_000)] = 0
    max_tokens: Annotated[int, _described("Tokens of all texts of one request at most.", ge=0)] = 0
    window: Annotated[int, _described("Tokens of a chat model's prompt and answer together.", ge=0)] = 0
    max_output: Annotated[int, _described("Tokens of a chat model's answer at most.", ge=0)] = 0
    tools: Annotated[bool | None, _described("Whether a chat model can call tools.")] = None
    price: Annotated[float, _described("US dollars for a million tokens sent, or for a thousand rerankings.", ge=0)] = 0.0
    output_price: Annotated[float, _described("US dollars for a million tokens of a chat model's answers.", ge=0)] = 0.0


class Models(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A model for each role."""

    embedder: ModelSettings = ModelSettings()
    reranker: ModelSettings = ModelSettings()
    chat: ModelSettings = ModelSettings()
    planner: ModelSettings = ModelSettings()


class LimitSettings(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How much may be asked of each remote service; 0 is no limit."""

    requests_per_minute: Annotated[int, _described("Requests a minute.", ge=0)] = 0
    tokens_per_minute: Annotated[int, _described("Tokens sent a minute.", ge=0)] = 0
    cost_per_day: Annotated[float, _described("US dollars a day (UTC), of all of the person's programs together.", ge=0)] = 0.0


def read_models(raw: object) -> Models:
    """Read the setting `models`. Raises `ValueError` that says what is wrong where."""
    refuse_unknown(raw, Models, "")
    try:
        models = decode(Models, raw)
    except InvalidInput as error:
        raise ValueError(_sentence(error)) from None
    for role in Models.__struct_fields__:
        model: ModelSettings = getattr(models, role)
        check_key_place(f"{role}.key", model.key)
        check_url(f"{role}.baseUrl", model.base_url)
        check_url(f"{role}.tokenUrl", model.token_url)
    return models


def read_limits(raw: object) -> LimitSettings:
    """Read the setting `limits`. Raises `ValueError`."""
    refuse_unknown(raw, LimitSettings, "")
    try:
        return decode(LimitSettings, raw)
    except InvalidInput as error:
        raise ValueError(_sentence(error)) from None


def _sentence(error: InvalidInput) -> str:
    return error.sentence if error.field == "params" else str(error)


def check_key_place(field: str, place: str) -> None:
    """Raise `ValueError` unless this says where a key is."""
    if place in ("", "keyring", "editor", "none") or (place.startswith("env:") and place.removeprefix("env:").isidentifier()):
        return
    # Whatever it is, it may be a key: it must not be repeated.
    raise ValueError(
        f"{field}: says where the key is: `env:NAME`, `keyring`, `editor` or `none`. A key itself doesn't belong into a "
        "settings file; replace it there if you have written one."
    )


def check_url(field: str, url: str) -> None:
    """Raise `ValueError` for what is given and can't be asked."""
    if not url:
        return
    try:
        parts = urlsplit(url)
        fit = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and not parts.query
    except ValueError:
        fit = False
    if not fit:
        raise ValueError(f"{field}: must be a URL that begins with https:// or http://")
    if parts.username or parts.password:
        raise ValueError(f"{field}: must hold no user name or password")


def refuse_unknown(raw: object, kind: type[Struct], at: str) -> None:
    """Raise `ValueError` for a field that doesn't exist: a misspelt one would be ignored, and its default sent text elsewhere."""
    if not isinstance(raw, dict):
        return
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        if key not in fields:
            raise ValueError(f"{at}{key}: there is no such field; there are {', '.join(fields)}")
        inner = fields[key]
        if isinstance(inner, type) and issubclass(inner, Struct):
            refuse_unknown(value, inner, f"{at}{key}.")

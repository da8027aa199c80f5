"""Read files that describe tools: TOML, JSON and YAML to plain data."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from carrel.model.errors import CarrelError, InvalidInput
from carrel.model.installation import how_to_install

_LONGEST = 20_000_000
_MOST_MERGED = 1_000_000
"""Entries of a document's maps, with what merge keys add to them."""


def read_document(path: Path) -> Any:
    """Return the data of a `.toml`, `.json`, `.yaml` or `.yml` file. Raises `CarrelError`."""
    path = path.expanduser()
    try:
        if path.stat().st_size > _LONGEST:
            raise InvalidInput("file", f"{path} is longer than {_LONGEST:,} bytes")
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise CarrelError(f"{path} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InvalidInput("file", f"{path} is not UTF-8") from None
    try:
        match path.suffix.lower():
            case ".toml":
                return tomllib.loads(text)
            case ".yaml" | ".yml":
                return _yaml(text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput("file", f"{path} can't be read: {reason}") from None


def _yaml(text: str) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise CarrelError("YAML needs the extra `openapi`, which isn't installed", f"Run: {how_to_install('openapi')}") from None
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Bounds what merge keys (`<<`) make: each may double what it names."""

        left = _MOST_MERGED

        def flatten_mapping(self, node: Any) -> None:
            super().flatten_mapping(node)
            self.left -= len(node.value)
            if self.left < 0:
                raise ValueError("its merge keys make too much of it")

    try:
        return yaml.load(text, Loader)  # noqa: S506 - made of a safe loader
    except yaml.YAMLError as error:
        raise ValueError(str(error).replace("\n", " ")) from None

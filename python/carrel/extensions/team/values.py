"""Sealed values of a team in a folder that it shares, a file each, and in Qdrant, as payloads of points without vectors.

A file is written beside and then renamed, so that nobody reads half of one. It isn't waited until the disk has it: a file that
a power cut damaged doesn't unseal, and is made again. Qdrant searches nothing there, so it keeps nothing in memory. It is asked
by the one HTTP client, which sees to permission, keys, limits and back-off.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from carrel.model.errors import ProviderError, StoreError
from carrel.model.outbound import Destination, Load, Outbound
from carrel.model.plain_data import inner
from carrel.providers.http import KeyAuth, ServiceClient
from carrel.providers.service import Refusal, Service

MOST_BYTES = 100_000
"""Of one value: a vector of 16,384 numbers takes 33 KB."""


class FolderValues:
    """The folder. It is made where it is missing, what it lies in isn't: that may be a mount that is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values that are there."""
        return await asyncio.to_thread(self._read, keys)

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values."""
        await asyncio.to_thread(self._write, values)

    async def aclose(self) -> None:
        """Have nothing to close."""

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        values = {}
        try:
            if not self._folder.is_dir() and not self._folder.parent.is_dir():
                raise FileNotFoundError(2, "No such folder")
            for key in keys:
                with contextlib.suppress(FileNotFoundError), self._path(key).open("rb") as file:
                    values[key] = file.read(MOST_BYTES)
        except OSError as error:
            raise self._fault(error, "read") from None
        return values

    def _write(self, values: Mapping[bytes, bytes]) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
            for key, value in values.items():
                path = self._path(key)
                path.parent.mkdir(exist_ok=True)
                with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
                    file.write(value)
                Path(file.name).replace(path)
        except OSError as error:
            raise self._fault(error, "written") from None

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self._folder / name[:2] / name[2:]

    def _fault(self, error: OSError, done: str) -> StoreError:
        return StoreError(
            f"The team's folder {self._folder} can't be {done} ({error.strerror or type(error).__name__})",
            "Mount it, or make it writable.",
        )


PROVIDER = "team"
_KEY_REFUSED: Refusal = (
    "{0} wants a key, or another one ({1})",
    "Set one: `carrel models key qdrant`, or `key` of `team`.",
    False,
)
_ANSWER_SECONDS = 30.0
_DAY = 24 * 3600


class QdrantValues:
    """One collection. It is made by the first who writes."""

    def __init__(
        self,
        outbound: Outbound,
        url: str,
        collection: str,
        key: str = "",
    ) -> None:
        """Take where the API key is. Raises `InvalidInput` for a URL that can't be used."""
        refusals = {401: _KEY_REFUSED, 403: _KEY_REFUSED}
        self._service = Service(
            PROVIDER, "The team's cache in Qdrant", url, "store", idle_seconds=_ANSWER_SECONDS, refusals=refusals
        )
        auth = KeyAuth(outbound, "qdrant", key, required=False, header="api-key")
        self._client = ServiceClient(self._service, outbound, auth)
        self._path = f"/collections/{collection}"

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where it is."""
        return (self._service.destination,)

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values that are there. Raises `ProviderError`."""
        key_of = {str(uuid.UUID(bytes=key)): key for key in keys}
        body = {"ids": list(key_of), "with_payload": ["value"], "with_vector": False}
        try:
            answer = await self._client.post(f"{self._path}/points", body, Load())
        except ProviderError as error:
            if error.status == 404:  # nobody has written yet
                return {}
            raise
        return self._values(answer, key_of)

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values. Raises `ProviderError`."""
        day = int(time.time()) // _DAY
        points = [
            {
                "id": str(uuid.UUID(bytes=key)),
                "vector": {},
                "payload": {"value": base64.b64encode(value).decode(), "day": day},
            }
            for key, value in values.items()
        ]
        try:
            await self._upsert(points)
        except ProviderError as error:
            if error.status != 404:
                raise
            await self._make()
            await self._upsert(points)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    async def _upsert(self, points: list[dict[str, Any]]) -> None:
        await self._client.send("PUT", f"{self._path}/points?wait=true", {"points": points}, Load())

    async def _make(self) -> None:
        try:
            await self._client.send("PUT", self._path, {"vectors": {}, "on_disk_payload": True})
        except ProviderError as error:
            if error.status != 409:  # somebody else made it at the same moment
                raise

    def _values(self, answer: Any, key_of: Mapping[str, bytes]) -> dict[bytes, bytes]:
        points = inner(answer, "result")
        if not isinstance(points, list):
            raise ProviderError(f"{self._service.title} gave an answer of another form", "Check `url` of `team`.")
        values = {}
        for point in points:
            key, value = key_of.get(str(inner(point, "id"))), inner(point, "payload", "value")
            if key is not None and isinstance(value, str):
                try:
                    values[key] = base64.b64decode(value, validate=True)
                except (binascii.Error, ValueError):
                    values[key] = b""  # it is there, and nobody of the team made it
        return values

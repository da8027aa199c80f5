"""Sealed values in Qdrant, as payloads of points without vectors: nothing is searched there, so nothing is kept in memory.

Asked by the one HTTP client, which sees to permission, keys, limits and back-off.
"""

from __future__ import annotations

import base64
import binascii
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from carrel.model.errors import ProviderError
from carrel.model.outbound import Destination, Load, Outbound
from carrel.providers.http import KeyAuth, ServiceClient
from carrel.providers.service import Refusal, Service

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
        await self._client.put(f"{self._path}/points?wait=true", {"points": points}, Load())

    async def _make(self) -> None:
        try:
            await self._client.put(self._path, {"vectors": {}, "on_disk_payload": True})
        except ProviderError as error:
            if error.status != 409:  # somebody else made it at the same moment
                raise

    def _values(self, answer: Any, key_of: Mapping[str, bytes]) -> dict[bytes, bytes]:
        points = answer.get("result") if isinstance(answer, dict) else None
        if not isinstance(points, list):
            raise ProviderError(f"{self._service.title} gave an answer of another form", "Check `url` of `team`.")
        values = {}
        for point in points:
            key = key_of.get(str(point.get("id"))) if isinstance(point, dict) else None
            payload = point.get("payload") if key is not None else None
            value = payload.get("value") if isinstance(payload, dict) else None
            if key is not None and isinstance(value, str):
                try:
                    values[key] = base64.b64decode(value, validate=True)
                except (binascii.Error, ValueError):
                    values[key] = b""  # it is there, and nobody of the team made it
        return values

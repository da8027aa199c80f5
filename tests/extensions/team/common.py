"""Machines of a team, and places that they share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the extra team isn't installed")

from tests.extensions.team.test_embedding_cache import Service

from carrel.composition.team import find_seal
from carrel.extensions.team.embedding_cache import CachedEmbedder, EmbeddingCache
from carrel.extensions.team.team_cache import TeamCache, TeamStatus
from carrel.extensions.team.team_ledger import TeamLedger
from carrel.model.errors import CarrelError
from carrel.model.outbound import Outbound
from carrel.model.vectors import Vectors
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers.keys import StandardKeys
from carrel.settings.store_settings import TeamSettings

SECRET = "a-planted-team-secret-of-forty-characters"  # noqa: S105 - planted


OTHER = "another-planted-secret-of-forty-character"


TEXTS = ["def one(): ...", "def two(): ...", "planted wombat"]


def outbound(tmp_path: Path, key: str = "") -> Outbound:
    keys = StandardKeys({"QDRANT_API_KEY": key} if key else {})
    return Outbound(PermissionFile(tmp_path / "permissions.json"), keys, UsageMeter(None, Limits))


class Memory:
    """Values in this process, which a test may change or have fail."""

    def __init__(self) -> None:
        self.held: dict[bytes, bytes] = {}
        self.error: CarrelError | None = None
        self.write_error: CarrelError | None = None
        self.hangs = False
        self.seconds = 0.0
        self.meet: Callable[[], None] = lambda: None
        self.asked = 0

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        await self._meet()
        return {key: self.held[key] for key in keys if key in self.held}

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        await self._meet()
        if self.write_error:
            raise self.write_error
        self.held |= values

    async def _meet(self) -> None:
        self.asked += 1
        self.meet()
        await asyncio.sleep(self.seconds)
        if self.hangs:
            await asyncio.sleep(3_600)
        if self.error:
            raise self.error

    async def aclose(self) -> None: ...


class Developer:
    """One machine of the team: a model, a cache of its own, and the team's."""

    def __init__(self, folder: Path, values: Any, secret: str | None = SECRET) -> None:
        keys = {"CARREL_TEAM_SECRET": secret} if secret else {}
        no_permissions = PermissionFile(folder / "permissions.json")
        self.now = 0.0
        self.service = Service()
        self.team = TeamCache(
            "the team's place",
            values,
            lambda: find_seal(TeamSettings(), Outbound(no_permissions, StandardKeys(keys), UsageMeter(None, Limits))),
            TeamLedger(folder / "team.sqlite"),
            clock=lambda: self.now,
            read_seconds=0.2 if isinstance(values, Memory) else 20,
            write_seconds=0.2 if isinstance(values, Memory) else 20,
        )
        self.model = CachedEmbedder(self.service, EmbeddingCache(folder / "embeddings.sqlite"), team=self.team)

    async def vectors(self, texts: Sequence[str] = TEXTS, kind: Any = "document") -> Vectors:
        return await self.model.embed(texts, kind)

    async def status(self) -> TeamStatus:
        return await asyncio.to_thread(self.team.status)

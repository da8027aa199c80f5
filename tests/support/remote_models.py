"""A workspace with a remote embedding model, and the person who set it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.services.embeddings import KEY, EmbeddingService
from tests.shop import SHOP, write_files
from tests.waiting import until

from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.index.workspace_state import FolderSettings
from carrel.model.remote import Confirmation
from carrel.model.types import Query
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers.keys import StandardKeys
from carrel.service import queries
from carrel.service.workspace import Workspace, WorkspaceEvents
from carrel.settings.model_settings import Models, ModelSettings
from carrel.settings.settings import Settings
from carrel.system.jobs import Jobs

MODEL = "text-embedding-3-small"
BUNDLED = "carrel-embed-v1"


def remote(service: EmbeddingService, **more: Any) -> ModelSettings:
    return ModelSettings(provider="openai", base_url=f"{service.url}/v1", dimensions=64, **more)


class Person:
    """A workspace's settings, permissions, and what it was told."""

    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path = tmp_path
        self.root = write_files(tmp_path / "shop", SHOP)
        self.faults: list[str] = []
        self.progress: list[Any] = []
        self.confirmations: list[Confirmation] = []
        self.agrees = True
        self.opened: list[Workspace] = []

    def folder(self, model: ModelSettings) -> FolderSettings:
        return FolderSettings(Settings(cache_folder=str(self.tmp_path / "cache"), models=Models(embedder=model)))

    def open(self, model: ModelSettings, root: Path | None = None, keys: StandardKeys | None = None) -> Workspace:
        keys = keys or StandardKeys({"OPENAI_API_KEY": KEY})
        outbound = OutboundServices(PermissionFile(self.tmp_path / "permissions.json"), keys, UsageMeter(None, Limits))
        composition = Composition(outbound=outbound, confirm=self._confirm)
        events = WorkspaceEvents(progressed=lambda *told: self.progress.append(told[2]), fault=self.faults.append)
        root = root or self.root
        self.opened.append(
            Workspace(
                root, root.as_uri(), folder=self.folder(model), composition=composition, jobs=Jobs(), watched=True, events=events
            )
        )
        self.opened[-1].switch.enabled = True
        return self.opened[-1]

    async def _confirm(self, asked: Confirmation) -> bool:
        self.confirmations.append(asked)
        return self.agrees


def model_of(workspace: Workspace) -> str:
    assert workspace.index
    return workspace.index.embedder.spec.id


async def found(workspace: Workspace, text: str) -> list[str | None]:
    return [hit.chunk.symbol for hit in (await queries.search(workspace, Query(text, 3), 30_000)).hits]


async def switched(person: Person, service: EmbeddingService, **more: Any) -> Workspace:
    workspace = person.open(remote(service, **more))
    await found(workspace, "anything")
    await until(lambda: MODEL in model_of(workspace))
    await workspace.queue.idle(30)  # the switch has the workspace compared once more
    return workspace

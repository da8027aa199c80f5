"""Embeddings of Ollama, by its own API, which says which models are there and shortens what is too long."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from carrel.model.outbound import Load, Outbound
from carrel.model.ports import EmbeddingSpec
from carrel.providers.embeddings import Kind, KnownModel, ServiceEmbedder
from carrel.providers.http import ServiceClient, Sleep, key_for
from carrel.providers.service import Service
from carrel.settings.model_settings import USUAL, ModelSettings

PROVIDER = "ollama"
BASE_URL = "http://localhost:11434"
MODEL = "nomic-embed-text"
MAX_TEXTS = 32
"""A laptop's processor takes some seconds for so many."""
_SEARCH = "Represent this sentence for searching relevant passages: "
MODELS: Mapping[str, KnownModel] = {
    "all-minilm": KnownModel(384, 256),
    "bge-m3": KnownModel(1024),
    "embeddinggemma": KnownModel(768, 2_048, prefixes=("task: search result | query: ", "title: none | text: ")),
    "mxbai-embed-large": KnownModel(1024, 512, floor=0.4, prefixes=(_SEARCH, "")),
    "nomic-embed-text": KnownModel(768, 2_048, floor=0.4, prefixes=("search_query: ", "search_document: ")),
    "snowflake-arctic-embed": KnownModel(1024, 512, prefixes=(_SEARCH, "")),
}
"""With the tags that are pulled where none is named."""


class OllamaEmbedder(ServiceEmbedder):
    """Asks `/api/embed`."""

    def __init__(
        self,
        outbound: Outbound,
        options: ModelSettings = USUAL,
        *,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take what a person set; empty and 0 are the usual. Raises `InvalidInput` for a base URL that can't be used."""
        model = (options.model or MODEL).removesuffix(":latest")
        base_url = (options.base_url or BASE_URL).rstrip("/").removesuffix("/v1").removesuffix("/api")
        name = model.replace("{", "{{").replace("}", "}}")
        missing = (f"Ollama doesn't have the model {name} ({{1}})", f"Run `ollama pull {name}`.", False)
        service = Service(PROVIDER, "Ollama", base_url, "embedder", refusals={404: missing})
        facts = MODELS.get(model, KnownModel(0))
        host = "" if not service.leaves_machine else f"@{service.destination.host}"
        spec = EmbeddingSpec(
            f"{PROVIDER}{host}:{model}" + (f":{options.dimensions}" if options.dimensions else ""),
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=options.max_texts or MAX_TEXTS,
            max_tokens=options.max_tokens or None,
            leaves_machine=service.leaves_machine,
            price=options.price,
        )
        auth = key_for(outbound, service, options.key, is_home=False)
        client = ServiceClient(service, outbound, auth, sleep=sleep, transport=transport)
        super().__init__(outbound, client, auth, spec, facts)
        self._body: dict[str, Any] = {"model": model, "truncate": True}
        if options.dimensions:
            self._body["dimensions"] = options.dimensions

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:  # noqa: ARG002 - prefixes tell kinds apart
        answer = await self._client.post("/api/embed", {**self._body, "input": list(texts)}, load)
        rows = answer.get("embeddings") if isinstance(answer, Mapping) else None
        if not isinstance(rows, list):
            raise self._wrong("no embeddings")
        return rows

"""Embeddings of OpenAI, and of everything that speaks its API: Azure, vLLM, LM Studio, llama.cpp, LiteLLM (spec C2).

With `HELICONE_API_KEY` set, and no base URL, OpenAI is asked through the proxy of Helicone, which a person allows as a place of
its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from carrel.model.outbound import Load, Outbound
from carrel.model.ports import EmbeddingSpec
from carrel.providers.embeddings import UNKNOWN, Kind, KnownModel, ServiceEmbedder, rows_by_index
from carrel.providers.http import KeyAuth, ServiceClient, Sleep, key_for
from carrel.providers.service import Service
from carrel.providers.tokenizers import ExactTokenizer
from carrel.settings.model_settings import USUAL, ModelSettings

PROVIDER = "openai"
BASE_URL = "https://api.openai.com/v1"
HELICONE_URL = "https://oai.helicone.ai/v1"
HELICONE_KEY = "HELICONE_API_KEY"
MODEL = "text-embedding-3-small"
MAX_TEXTS = 100
MAX_TOKENS = 100_000
"""Of one request. OpenAI takes 300,000; what a cancel throws away was paid for."""
MODELS: Mapping[str, KnownModel] = {
    "text-embedding-3-small": KnownModel(1536, 8_191, 0.02),
    "text-embedding-3-large": KnownModel(3072, 8_191, 0.13),
    "text-embedding-ada-002": KnownModel(1536, 8_191, 0.10, floor=0.7),
}
"""OpenAI's own; the prices are those of November 2026, `price` overrides them. Cosines of ada-002 are hardly ever below 0.7."""


class HeliconeAuth(KeyAuth):
    """OpenAI's key, and that of the proxy before it."""

    def __init__(self, outbound: Outbound, place: str) -> None:
        super().__init__(outbound, PROVIDER, place)
        self._helicone = KeyAuth(outbound, "helicone", f"env:{HELICONE_KEY}", header="Helicone-Auth")

    async def headers(self) -> Mapping[str, str]:
        """Return both headers."""
        proxy = await self._helicone.headers()
        return {**await super().headers(), **{name: f"Bearer {value}" for name, value in proxy.items()}}


class OpenAIEmbedder(ServiceEmbedder):
    """Asks `/embeddings`."""

    def __init__(
        self,
        outbound: Outbound,
        options: ModelSettings = USUAL,
        *,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take what a person set; empty and 0 are the usual. Raises `InvalidInput` for a base URL that can't be used."""
        model = options.model or MODEL
        through_helicone = not options.base_url and outbound.keys.find("helicone", f"env:{HELICONE_KEY}") is not None
        service = Service(PROVIDER, "OpenAI", options.base_url or (HELICONE_URL if through_helicone else BASE_URL), "embedder")
        host = service.destination.host
        is_home = options.base_url.rstrip("/") in ("", BASE_URL)
        if not is_home:
            service = Service(PROVIDER, f"The embedding service at {host}", options.base_url, "embedder")
        facts = MODELS.get(model) or replace(UNKNOWN, longest=options.max_tokens or UNKNOWN.longest)
        auth = (
            HeliconeAuth(outbound, options.key) if through_helicone else key_for(outbound, service, options.key, is_home=is_home)
        )
        size = f":{options.dimensions}" if options.dimensions else ""
        spec = EmbeddingSpec(
            f"{PROVIDER}{'' if is_home else '@' + host}:{model}{size}",
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=options.max_texts or MAX_TEXTS,
            max_tokens=options.max_tokens or MAX_TOKENS,
            leaves_machine=service.leaves_machine,
            price=options.price or (facts.price if is_home else 0.0),
        )
        client = ServiceClient(service, outbound, auth, sleep=sleep, transport=transport)
        super().__init__(outbound, client, auth, spec, facts, ExactTokenizer() if model in MODELS else None)
        self._body: dict[str, Any] = {"model": model, "encoding_format": "base64"}
        """A quarter of the bytes, and no numbers to parse. Servers that don't know the format give numbers, which do as well."""
        if options.dimensions:
            self._body["dimensions"] = options.dimensions

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:  # noqa: ARG002 - the model knows no kinds
        rows = rows_by_index(await self._client.post("/embeddings", {**self._body, "input": list(texts)}, load))
        if rows is None:
            raise self._wrong("no embeddings")
        return rows

"""Embeddings of GitHub Copilot (spec B1), in both forms that its clients use.

The older form asks `api.githubcopilot.com` with a session token, 50 texts a call and 200 ms between calls; newer models ask
`api.github.com` with the sign-in's own token. Not documented by GitHub: what is here follows what its own clients send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from carrel.model.errors import ProviderError
from carrel.model.outbound import Destination, Load, Outbound, is_loopback
from carrel.model.ports import EmbeddingSpec
from carrel.providers.copilot_token import PROVIDER, TOKEN_URL, SessionAuth, SignIn
from carrel.providers.embeddings import UNKNOWN, Kind, KnownModel, ServiceEmbedder, rows_by_index
from carrel.providers.http import Auth, ServiceClient, Sleep
from carrel.providers.service import Service
from carrel.providers.tokenizers import ExactTokenizer
from carrel.settings.model_settings import USUAL, ModelSettings

BASE_URL = "https://api.githubcopilot.com"
NEWER_URL = "https://api.github.com"
_OWN_HOSTS = ("api.githubcopilot.com", "api.github.com")
MODEL = "copilot-text-embedding-ada-002"
MAX_TEXTS = 50
NEWER_MAX_TEXTS = 100
MAX_TOKENS = 100_000
SECONDS_BETWEEN = 0.2
MODELS: Mapping[str, KnownModel] = {
    "copilot-text-embedding-ada-002": KnownModel(1536, 8_191),
    "text-embedding-3-small": KnownModel(1536, 8_191),
}
"""The first has the usual floor: what answered questions at the source had cosines of 0.33 and 0.52."""
NEWER: Mapping[str, KnownModel] = {
    "metis-1024-I16-Binary": KnownModel(1024, 8_191),
    "text-embedding-3-small-512": KnownModel(512, 8_191),
}
"""Models of the newer form."""
_REFUSED = ("GitHub Copilot doesn't allow this with your sign-in ({1})", "Sign in to Copilot in your editor again.", False)
_VERSION = "carrel/0.1"
HEADERS: Mapping[str, str] = {
    "Editor-Version": _VERSION,
    "Editor-Plugin-Version": _VERSION,
    "Copilot-Integration-Id": "vscode-chat",  # the service knows the ids of its own clients only
}


class CopilotEmbedder(ServiceEmbedder):
    """Asks `/embeddings`, 200 ms after the request before was sent at the earliest."""

    subscription = True

    def __init__(
        self,
        outbound: Outbound,
        options: ModelSettings = USUAL,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take what a person set; empty and 0 are the usual. Raises `InvalidInput` for URLs that can't be used."""
        model = options.model or MODEL
        self._newer = model in NEWER
        self._model = model
        url = options.base_url or (NEWER_URL if self._newer else BASE_URL)
        service = Service(PROVIDER, "GitHub Copilot", url, "embedder", HEADERS, refusals={401: _REFUSED, 403: _REFUSED})
        facts = (NEWER if self._newer else MODELS).get(model, UNKNOWN)
        is_github = _is_github(url) and (self._newer or _is_github(options.token_url or TOKEN_URL))
        sign_in = SignIn(outbound, options.key, scheme="Bearer" if self._newer else "token", is_github=is_github)
        self._sign_in = sign_in
        self._session: SessionAuth | None = None
        if not self._newer:
            self._session = SessionAuth(
                outbound, sign_in, options.token_url, HEADERS, clock=clock, sleep=sleep, transport=transport
            )
        auth: Auth = self._session or sign_in
        most = NEWER_MAX_TEXTS if self._newer else MAX_TEXTS
        self._choose_size = bool(options.dimensions) and options.dimensions != facts.dim
        spec = EmbeddingSpec(
            f"{PROVIDER}:{model}" + (f":{options.dimensions}" if self._choose_size else ""),
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=min(options.max_texts or most, most),
            max_tokens=MAX_TOKENS,
            leaves_machine=service.leaves_machine,
        )
        client = ServiceClient(service, outbound, auth, seconds_between=SECONDS_BETWEEN, sleep=sleep, transport=transport)
        super().__init__(outbound, client, auth, spec, facts, ExactTokenizer())

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where texts go, and where the token is exchanged."""
        destinations = super().destinations
        return (*destinations, self._session.service.destination) if self._session else destinations

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await super().aclose()
        if self._session:
            await self._session.aclose()

    async def _check_key(self) -> None:
        await asyncio.to_thread(self._sign_in.find)

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:
        if self._newer:
            body: dict[str, Any] = {"inputs": list(texts), "input_type": kind, "embedding_model": self._model}
        else:
            body = {"model": self._model, "input": list(texts)}
            if self._choose_size:
                body["dimensions"] = self.spec.dim
        try:
            answer = await self._client.post("/embeddings", body, load)
        except ProviderError as error:
            error.retryable = False  # whatever could be waited for was: the next run tries these files again
            raise
        rows = _newer_rows(answer) if self._newer else rows_by_index(answer)
        if rows is None:
            raise self._wrong("no embeddings")
        return rows


def _newer_rows(answer: Any) -> list[Any] | None:
    items = answer.get("embeddings") if isinstance(answer, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        return None
    return [item.get("embedding") for item in items]


def _is_github(url: str) -> bool:
    """Tell whether a URL is one of GitHub's own, or of this machine."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    return is_loopback(host) or (parts.scheme == "https" and host in _OWN_HOSTS)

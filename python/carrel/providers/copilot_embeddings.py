"""Embeddings of GitHub Copilot.

`api.githubcopilot.com` is asked with a session token, 50 texts a call and 200 ms between calls. Not documented by GitHub: what is
here follows what its own clients send.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from carrel.model.errors import InvalidInput, ProviderError
from carrel.model.outbound import Destination, Load, Outbound, Secret, is_loopback
from carrel.model.plain_data import as_dict, as_text, inner
from carrel.model.ports import EmbeddingSpec
from carrel.providers.embeddings import UNKNOWN, Kind, KnownModel, ServiceEmbedder, rows_by_index
from carrel.providers.http import ServiceClient, Sleep
from carrel.providers.service import Service
from carrel.providers.tokenizers import ExactTokenizer
from carrel.settings.model_settings import USUAL, ModelSettings

BASE_URL = "https://api.githubcopilot.com"
_OWN_HOSTS = ("api.githubcopilot.com", "api.github.com")
MODEL = "copilot-text-embedding-ada-002"
MAX_TEXTS = 50
MAX_TOKENS = 100_000
SECONDS_BETWEEN = 0.2
MODELS: Mapping[str, KnownModel] = {
    "copilot-text-embedding-ada-002": KnownModel(1536, 8_191),
    "text-embedding-3-small": KnownModel(1536, 8_191),
}
"""The first has the usual floor: what answered questions at the source had cosines of 0.33 and 0.52."""
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
        self._model = model
        url = options.base_url or BASE_URL
        service = Service(PROVIDER, "GitHub Copilot", url, "embedder", HEADERS, refusals={401: _REFUSED, 403: _REFUSED})
        facts = MODELS.get(model, UNKNOWN)
        is_github = _is_github(url) and _is_github(options.token_url or TOKEN_URL)
        self._sign_in = SignIn(outbound, options.key, is_github=is_github)
        self._session = SessionAuth(outbound, self._sign_in, options.token_url, clock=clock, sleep=sleep, transport=transport)
        self._choose_size = bool(options.dimensions) and options.dimensions != facts.dim
        spec = EmbeddingSpec(
            f"{PROVIDER}:{model}" + (f":{options.dimensions}" if self._choose_size else ""),
            options.dimensions or facts.dim,
            floor=options.floor or facts.floor,
            max_texts=min(options.max_texts or MAX_TEXTS, MAX_TEXTS),
            max_tokens=MAX_TOKENS,
            leaves_machine=service.leaves_machine,
        )
        client = ServiceClient(
            service, outbound, self._session, seconds_between=SECONDS_BETWEEN, sleep=sleep, transport=transport
        )
        super().__init__(outbound, client, self._session, spec, facts, ExactTokenizer())

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where texts go, and where the token is exchanged."""
        return (*super().destinations, self._session.service.destination)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await super().aclose()
        await self._session.aclose()

    async def _check_key(self) -> None:
        await asyncio.to_thread(self._sign_in.find)

    async def _ask(self, texts: Sequence[str], kind: Kind, load: Load) -> Sequence[Any]:  # noqa: ARG002 - the model knows no kinds
        body: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self._choose_size:
            body["dimensions"] = self.spec.dim
        try:
            answer = await self._client.post("/embeddings", body, load)
        except ProviderError as error:
            error.retryable = False  # whatever could be waited for was: the next run tries these files again
            raise
        rows = rows_by_index(answer)
        if rows is None:
            raise self._wrong("no embeddings")
        return rows


def _is_github(url: str) -> bool:
    """Tell whether a URL is one of GitHub's own, or of this machine."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    return is_loopback(host) or (parts.scheme == "https" and host in _OWN_HOSTS)


PROVIDER = "copilot"
TOKEN_URL = "https://api.github.com/copilot_internal/v2/token"  # noqa: S105 - a place, no token
RENEW_BEFORE = 300.0
LEAST_SECONDS = 60.0
"""A session token counts for so long whatever the clock here says."""
_SIGN_IN = "Sign in to GitHub Copilot in your editor, which leaves its token there."


def token_files(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> tuple[Path, ...]:
    """Return where editors keep Copilot's sign-in; the second is what older ones wrote."""
    if platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:  # also on macOS
        base = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return tuple(base / "github-copilot" / name for name in ("apps.json", "hosts.json"))


class SignIn:
    """The token of a person's sign-in, read anew for each use. As `Auth` it proves who asks for a session token."""

    def __init__(
        self,
        outbound: Outbound,
        place: str,
        *,
        is_github: bool = True,
        files: tuple[Path, ...] | None = None,
    ) -> None:
        """Take the setting `key`, and the files that hold the sign-in of github.com; None means those of editors.

        `is_github` says that it goes to GitHub or stays on this machine: to nobody else is the editors' sign-in sent.
        """
        self._is_github = is_github
        self._files = files
        self._outbound = outbound
        self._place = place

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the token. Raises `ProviderError` where nobody signed in."""
        token = await asyncio.to_thread(self.find)
        return {"Authorization": f"token {token.reveal()}"}

    def rejected(self) -> bool:
        """Tell that there is no other token."""
        return False

    def find(self) -> Secret:
        """Return the token: from the place that is set, else from the editors' files. Raises `ProviderError`."""
        if self._place == "none":
            raise ProviderError("GitHub Copilot wants a sign-in, and `key` says that there is none", _SIGN_IN)
        if self._place:
            if key := self._outbound.keys.find(PROVIDER, self._place):
                return key
            raise ProviderError(f"There is no key of GitHub Copilot in {self._place}", "Put it there, or leave `key` empty.")
        if not self._is_github:
            raise ProviderError(
                "Your sign-in of github.com was not sent to another host", 'Say where the key for it is: `key = "env:NAME"`.'
            )
        unreadable, files = "", self._files or token_files()
        for path in files:
            try:
                token = _token_of(json.loads(path.read_text("utf-8")))
            except FileNotFoundError:
                continue
            except (OSError, ValueError, RecursionError) as error:
                unreadable = unreadable or f"{path} can't be read ({type(error).__name__})"
                continue
            if token:
                return Secret(token)
        raise ProviderError(unreadable or f"There is no sign-in of GitHub Copilot in {files[0]}", _SIGN_IN)


def _token_of(raw: Any) -> str | None:
    """Return the token of github.com; keys are such as `github.com:Iv1.0123456789abcdef`."""
    for name, entry in as_dict(raw).items():
        token = as_text(inner(entry, "oauth_token"))
        if name.split(":")[0] == "github.com" and token:
            return token
    return None


class _Session(Struct, frozen=True):
    token: Secret
    until: float


class SessionAuth:
    """Proves who asks by a session token, exchanged when it is needed."""

    def __init__(
        self,
        outbound: Outbound,
        sign_in: SignIn,
        url: str = "",
        *,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
        transport: Any = None,
    ) -> None:
        """Take where tokens are exchanged. Raises `InvalidInput` for a URL that can't be used."""
        url = url or TOKEN_URL
        path = urlsplit(url).path
        if not path.strip("/"):
            raise InvalidInput("tokenUrl", "must end with the path of the exchange", f"GitHub's own is {TOKEN_URL}")
        refused = ("GitHub refused Copilot's sign-in ({1})", _SIGN_IN, False)
        refusals = {401: refused, 403: refused, 404: refused}
        self.service = Service(PROVIDER, "GitHub", url.removesuffix(path), "embedder", HEADERS, refusals=refusals)
        self._path = path
        self._client = ServiceClient(self.service, outbound, sign_in, sleep=sleep, transport=transport)
        self._clock = clock
        self._session: _Session | None = None
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()

    async def headers(self) -> Mapping[str, str]:
        """Return the header with the session token; exchange one first where none is left. Raises `ProviderError`."""
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            session = self._session
            if session is None or self._clock() >= session.until:
                session = self._session = await self._exchange()
        return {"Authorization": f"Bearer {session.token.reveal()}"}

    def rejected(self) -> bool:
        """Forget the token that was refused; another may be had."""
        self._session = None
        return True

    @property
    def seconds_left(self) -> float:
        """Return for how long the session token is used, 0 without one."""
        return 0.0 if self._session is None else self._session.until - self._clock()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._client.aclose()

    async def _exchange(self) -> _Session:
        try:
            answer = await self._client.send("GET", self._path, None)
        except ProviderError as error:
            if error.retryable:
                raise
            answer = await self._client.post(self._path, {})  # some hosts take it by POST only
        token = as_text(inner(answer, "token"))
        if not token:
            raise ProviderError("GitHub gave no session token for Copilot", _SIGN_IN)
        now, expires, refresh = self._clock(), answer.get("expires_at"), answer.get("refresh_in")
        until = now + LEAST_SECONDS
        if isinstance(expires, int | float):
            until = max(until, expires - RENEW_BEFORE)
        elif isinstance(refresh, int | float):
            until = max(until, now + refresh)
        return _Session(Secret(token), until)

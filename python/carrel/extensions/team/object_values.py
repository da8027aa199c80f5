"""Sealed values in an S3-compatible object store, an object each, named by its key (extra `s3`).

The library has an HTTP client of its own, so what the others share is done here: permission, keys, limits, counts. It would
take hosts, keys and switches from the environment too; whatever decides where something is sent, or who asks, is given to it.
"""

# ruff: noqa: PLC0415 - an extra
from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from carrel.model.errors import NotAllowed, ProviderError
from carrel.model.installation import how_to_install
from carrel.model.outbound import Destination, Load, Outbound, Secret, Sent, admitted, is_loopback, note
from carrel.providers.service import Service
from carrel.system.tls import tls_problem_in_words

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Credential, S3Store

T = TypeVar("T")

PROVIDER = "team"
KEYS = "s3"
"""Under which name the editor and the keyring have the key."""
MOST_BYTES = 100_000
"""Of one value: a vector of 16,384 numbers takes 33 KB."""
AT_ONCE = 32
"""Requests under way at the same moment."""
_TIMEOUT = timedelta(seconds=10)
_RETRIES = timedelta(seconds=2)
_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")
_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")

Credentials = tuple[str, str, str | None]
"""The id of an access key, its secret, and the token of a temporary one."""


class ObjectValues:
    """A bucket, or what is below a prefix of it. The bucket itself must be there."""

    def __init__(self, outbound: Outbound, url: str, folder: str, *, endpoint: str = "", region: str = "", key: str = "") -> None:
        """Take `s3://BUCKET/PREFIX`, and where the key is. Raises `InvalidInput` for an endpoint that can't be used."""
        parts = urlsplit(url)
        self._region = region or "us-east-1"
        self._bucket, self._prefix = parts.netloc, "/".join(filter(None, (parts.path.strip("/"), folder)))
        at = (endpoint or f"https://s3.{self._region}.amazonaws.com").rstrip("/")
        self._service = Service(PROVIDER, f"The team's cache in s3://{self._bucket}", at, "store")
        self._outbound, self._key = outbound, key
        self._made: tuple[Credentials, S3Store] | None = None

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """Return where it is."""
        return (self._service.destination,)

    async def read(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values that are there. Raises `ProviderError`."""
        values: dict[bytes, bytes] = {}

        async def get(store: S3Store, key: bytes) -> None:
            import obstore

            try:
                answer = await obstore.get_async(store, _name(key))
                # One that is too long is there, and nobody of the team made it.
                values[key] = bytes(await answer.bytes_async()) if answer.meta["size"] <= MOST_BYTES else b""
            except FileNotFoundError:
                return

        await self._each(len(keys), 0, lambda store: [get(store, key) for key in keys])
        return values

    async def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values. Raises `ProviderError`."""

        async def put(store: S3Store, key: bytes, value: bytes) -> None:
            import obstore

            await obstore.put_async(store, _name(key), value, use_multipart=False)

        size = sum(map(len, values.values()))
        await self._each(len(values), size, lambda store: [put(store, key, value) for key, value in values.items()])

    async def aclose(self) -> None:
        """Have nothing to close: the library's connections belong to no event loop."""

    # --- inside

    async def _each(self, requests: int, size: int, make: Any) -> None:
        """Make requests, some at a time, once a person allowed it and as far as the limits let them."""
        destination, load = self._service.destination, Load(requests=requests)
        self._outbound.permissions.check(destination)
        store = await asyncio.to_thread(self._store)
        admission = await admitted(self._outbound.meter, destination, load)
        try:
            self._outbound.permissions.check(destination)  # it may have been withdrawn while this waited
            note(Sent(destination, self._service.role, load, size))
            turn = asyncio.Semaphore(AT_ONCE)
            try:
                async with asyncio.TaskGroup() as group:
                    for request in make(store):
                        group.create_task(_in_turn(turn, request))
            except* Exception as errors:
                raise self._failed(_first(errors)) from None
            admission.taken()
        finally:
            admission.ended()

    def _store(self) -> S3Store:
        """Return the client of the key that is set now. Raises `ProviderError`. Runs on a thread: the keyring may be asked."""
        try:
            from obstore.store import S3Store
        except ImportError:
            raise ProviderError(
                "An object store needs a package that isn't installed", f"Install it: {how_to_install('team', 's3')}"
            ) from None
        credentials = self._credentials()
        if self._made is None or self._made[0] != credentials:
            self._made = (credentials, self._client(S3Store, credentials))
        return self._made[1]

    def _client(self, kind: type[S3Store], credentials: Credentials) -> S3Store:
        access, secret, token = credentials

        def credential() -> S3Credential:
            return {"access_key_id": access, "secret_access_key": secret, "token": token, "expires_at": None}

        options: ClientConfig = {
            "allow_http": is_loopback(self._service.destination.host),
            "allow_invalid_certificates": False,
            "timeout": _TIMEOUT,
            "connect_timeout": timedelta(seconds=3),
        }
        if not self._service.leaves_machine:
            # Nobody's proxy stands between two programs of one machine: one that is named puts aside those of the environment.
            options["proxy_url"] = "http://127.0.0.1:9"
            options["proxy_excludes"] = urlsplit(self._service.base_url).hostname or ""
        elif self._outbound.proxy:
            options["proxy_url"] = self._outbound.proxy
        if (file := os.environ.get("SSL_CERT_FILE")) and Path(file).is_file():
            options["root_certificate"] = Path(file).read_bytes()
        return kind(
            self._bucket,
            prefix=self._prefix,
            region=self._region,
            endpoint=self._service.base_url,
            aws_endpoint_url_s3=self._service.base_url,  # else that of the environment would win
            virtual_hosted_style_request=False,  # one host for all buckets is what a person allowed
            skip_signature=False,
            s3_express=False,
            credential_provider=credential,
            client_options=options,
            retry_config={"max_retries": 2, "retry_timeout": _RETRIES},
        )

    def _credentials(self) -> Credentials:
        """Return the key: of the place that is named, else of the environment, the editor or the keyring."""
        if not self._service.encrypted:
            raise ProviderError(
                f"The key for {self._service.title} was not sent: {self._service.destination.host} is asked without encryption",
                "Set `endpoint` of `team` to an address with https://.",
            )
        keys = [None if self._key else self._outbound.keys.find(KEYS, f"env:{name}") for name in _VARIABLES]
        access, secret, token = (key.reveal() if key else None for key in keys)
        if access and secret:
            if token and not self._service.destination.host.endswith(_AMAZON):
                raise ProviderError(
                    f"The temporary key for {self._service.title} was not sent: only Amazon's own servers get its token, "
                    "which goes along where a server sends a request elsewhere",
                    f"Use a key of its own for {self._service.destination.host}, and unset {_VARIABLES[2]}.",
                )
            return access, secret, token
        whole = self._outbound.keys.find(KEYS, self._key)
        if whole is None:
            raise ProviderError(
                f"There is no key for {self._service.title}",
                f"Set {_VARIABLES[0]} and {_VARIABLES[1]}, or enter both as ID:SECRET with `carrel models key {KEYS}`.",
            )
        return _parted(whole)

    def _failed(self, error: BaseException) -> Exception:
        """Return what is told of a failure, in words that quote nobody, and remember it."""
        if isinstance(error, NotAllowed):
            return error
        title, host = self._service.title, self._service.destination.host
        match type(error).__name__:
            case "PermissionDeniedError" | "UnauthenticatedError" | "PermissionError":
                failure = ProviderError(
                    f"{title} refused the key (403)",
                    "It must be allowed to get and put objects and to list the bucket: check the key, `region` and the policy.",
                    status=403,
                )
            case "FileNotFoundError" | "NotFoundError":
                failure = ProviderError(f"{title} is not there ({host} knows no such bucket)", "Make the bucket, or check `url`.")
            case _:
                failure = tls_problem_in_words(error, f"{title} at {host}") or ProviderError(
                    f"{title} can't be asked at {host} ({type(error).__name__})",
                    "Check the network, `url`, `endpoint` and `region` of `team`.",
                    retryable=True,
                )
        self._outbound.meter.failed(self._service.destination, str(failure))
        return failure


async def _in_turn(turn: asyncio.Semaphore, request: Coroutine[Any, Any, T]) -> T:
    async with turn:
        return await request


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _parted(whole: Secret) -> Credentials:
    access, _, rest = whole.reveal().partition(":")
    secret, _, token = rest.partition(":")
    if not access or not secret:
        raise ProviderError("The key for S3 can't be used", "Enter it as ID:SECRET, or ID:SECRET:TOKEN of a temporary one.")
    return access, secret, token or None


def _name(key: bytes) -> str:
    name = key.hex()
    return f"{name[:2]}/{name[2:]}"

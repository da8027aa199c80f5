"""Install Qdrant's program from its releases: the archive for this platform, checked against the digest published with it.

Nothing is downloaded unless the caller had a person agree to it.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import httpx
from msgspec import Struct

from carrel.extensions.stores.qdrant_process import program_name
from carrel.model.errors import ProviderError, StoreError
from carrel.model.outbound import is_loopback
from carrel.system.filesystem import private_folder

VERSION = "1.18.2"
"""The release that is installed: the one that the tests ran with."""
RELEASES = "https://api.github.com/repos/qdrant/qdrant/releases"
ARCHIVES: Mapping[tuple[str, str], str] = {
    ("darwin", "arm64"): "qdrant-aarch64-apple-darwin.tar.gz",
    ("darwin", "x64"): "qdrant-x86_64-apple-darwin.tar.gz",
    ("linux", "arm64"): "qdrant-aarch64-unknown-linux-musl.tar.gz",
    ("linux", "x64"): "qdrant-x86_64-unknown-linux-gnu.tar.gz",
    ("win32", "x64"): "qdrant-x86_64-pc-windows-msvc.zip",
}
MOST_BYTES = 500_000_000
"""The longest archive, and the longest program in one, that is written to disk."""
_REDIRECTS = 5
_MACHINES = {"amd64": "x64", "x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}
Progress = Callable[[int, int], None]
"""Told of the bytes that came, and of all (0 where that isn't known)."""


class Download(Struct, frozen=True):
    """What would be downloaded, for a person to decide on. `digest` is SHA-256 in hexadecimal digits."""

    url: str
    digest: str
    bytes: int
    version: str = VERSION


def archive_name(system: str = sys.platform, machine: str = "") -> str:
    """Return the name of the archive for a platform. Raises `ProviderError` where there is none."""
    kind = _MACHINES.get((machine or platform.machine()).lower(), "")
    name = ARCHIVES.get((system, kind))
    if name is None:
        raise ProviderError(
            f"Qdrant publishes no program for {system} on {machine or platform.machine()}",
            "Install it yourself and name it in `qdrantProgram`, or set the URL of a server.",
        )
    return name


async def find(
    name: str,
    *,
    releases: str = RELEASES,
    proxy: str = "",
    transport: httpx.AsyncBaseTransport | None = None,
) -> Download:
    """Ask the releases for the archive. Raises `ProviderError`."""
    async with _opened(f"{releases}/tags/v{VERSION}", proxy, transport) as answer:
        await answer.aread()
        try:
            assets = answer.json()["assets"]
            asset: dict[str, Any] = next(asset for asset in assets if asset["name"] == name)
            url, size = str(asset["browser_download_url"]), int(asset.get("size") or 0)
            published = str(asset.get("digest") or "")
        except (ValueError, KeyError, TypeError, StopIteration):
            raise ProviderError(f"The release {VERSION} of Qdrant has no archive {name}", "Install Qdrant yourself.") from None
    kind, _, digest = published.partition(":")
    if kind != "sha256" or len(digest) != 64:
        raise ProviderError(f"No digest is published for {name}", "Install Qdrant yourself.")
    _check_origin(url, releases)
    return Download(url, digest.lower(), size)


async def install(
    download: Download,
    folder: Path,
    *,
    proxy: str = "",
    progress: Progress = lambda _done, _total: None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Path:
    """Download, check and unpack the program into `folder`; return its path. What was there stays until the new one is whole.

    Raises `ProviderError` for what the network or the archive does, `StoreError` for the disk.
    """
    target = folder / "bin" / program_name()
    try:
        private_folder(folder)
        target.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".qdrant-", dir=folder) as scratch:
            archive = Path(scratch) / "archive"
            async with _opened(download.url, proxy, transport) as response:
                await _fetch(response, download, archive, progress)
            unpacked = Path(scratch) / "program"
            _unpack(archive, unpacked, zipped=urlsplit(download.url).path.endswith(".zip"))
            unpacked.chmod(0o755)
            unpacked.replace(target)
    except OSError as error:
        raise StoreError(
            f"Qdrant can't be written to {target} ({error.strerror})", "Free some space, or make it writable."
        ) from None
    return target


@asynccontextmanager
async def _opened(url: str, proxy: str, transport: httpx.AsyncBaseTransport | None) -> AsyncIterator[httpx.Response]:
    """Give the answer of a URL, after redirects to encrypted places only; no key is ever sent. Raises `ProviderError`."""
    client = httpx.AsyncClient(proxy=proxy or None, transport=transport, timeout=httpx.Timeout(60, connect=10))
    has_begun = False
    try:
        async with client, aclosing(await _followed(client, url)) as response:
            if not response.is_success:
                raise ProviderError(f"{response.url.host} answered {response.status_code}", "Try again later.", retryable=True)
            has_begun = True
            yield response
    except httpx.HTTPError as error:
        kind = type(error).__name__
        if has_begun:
            raise ProviderError(f"The download was cut ({kind}); nothing was installed.", retryable=True) from None
        raise ProviderError(f"{error.request.url.host} can't be reached ({kind})", "Check the network.", retryable=True) from None


async def _followed(client: httpx.AsyncClient, url: str) -> httpx.Response:
    """Ask for a URL, and for the places that it is sent on to, whose answers stay unread: they may be of any size."""
    request = client.build_request("GET", url)
    for _ in range(_REDIRECTS):
        _check_origin(str(request.url), url)
        response = await client.send(request, stream=True)
        if response.next_request is None:
            return response
        request = response.next_request
        await response.aclose()
    raise ProviderError("The download was sent from place to place without an end; nothing was installed.")


async def _fetch(response: httpx.Response, download: Download, target: Path, progress: Progress) -> None:
    digest, done = hashlib.sha256(), 0
    total = int(response.headers.get("content-length", "0")) or download.bytes
    with target.open("wb") as file:
        async for piece in response.aiter_bytes():
            done += len(piece)
            if done > MOST_BYTES:
                raise ProviderError(f"The archive is larger than {MOST_BYTES // 1_000_000} MB; nothing was installed.")
            digest.update(piece)
            file.write(piece)
            progress(done, total)
    if digest.hexdigest() != download.digest:
        raise ProviderError(
            f"The archive has the SHA-256 {digest.hexdigest()}, not {download.digest}; nothing was installed",
            "Try again later; if it stays so, somebody changed it on the way.",
        )


def _check_origin(url: str, origin: str) -> None:
    """Refuse a place that isn't encrypted, unless it is where a stand-in on this machine was asked."""
    parts = urlsplit(url)
    local = is_loopback(parts.netloc) and is_loopback(urlsplit(origin).netloc)
    if parts.scheme == "https" or (parts.scheme == "http" and local):
        return
    raise ProviderError(f"The download leads to {parts.scheme}://{parts.hostname}, which isn't encrypted; nothing was installed.")


def _unpack(archive: Path, target: Path, *, zipped: bool) -> None:
    """Write the program that the archive holds to `target`; nothing else of it is looked at."""
    try:
        with zipfile.ZipFile(archive) if zipped else tarfile.open(archive, "r:gz") as opened:
            for name, open_file in _files(opened):
                if Path(name).name in ("qdrant", "qdrant.exe"):
                    with open_file() as source:
                        _copy(source, target)
                    return
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise ProviderError(f"The archive can't be read ({type(error).__name__}); nothing was installed.") from None
    raise ProviderError("The archive holds no program `qdrant`; nothing was installed.")


def _files(opened: zipfile.ZipFile | tarfile.TarFile) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Give the names of an archive's files, one after the other, with what opens them."""
    if isinstance(opened, zipfile.ZipFile):
        yield from ((item.filename, partial(opened.open, item)) for item in opened.infolist() if not item.is_dir())
    else:
        extract = cast("Callable[[tarfile.TarInfo], IO[bytes]]", opened.extractfile)  # None only for what is no file
        yield from ((item.name, partial(extract, item)) for item in opened if item.isfile())


def _copy(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        while piece := source.read(1 << 20):
            if file.tell() + len(piece) > MOST_BYTES:
                raise ProviderError(f"The program is larger than {MOST_BYTES // 1_000_000} MB; nothing was installed.")
            file.write(piece)

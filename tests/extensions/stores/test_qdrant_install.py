"""The installation of Qdrant's program, against a stand-in for its releases."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from carrel.extensions.stores import qdrant_install
from carrel.extensions.stores.qdrant_install import Download, archive_name, find, install
from carrel.extensions.stores.qdrant_process import program_name
from carrel.model.errors import ProviderError, StoreError

PROGRAM = b"#!/bin/sh\necho qdrant 1.18.2\n" * 1000
RELEASES = "https://api.example/releases"


def tar(members: dict[str, bytes], link: str = "") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(info)
    return made.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def names(folder: Path) -> list[str]:
    return [item.name for item in folder.iterdir()]


def download(data: bytes, url: str = "https://example/qdrant.tar.gz", digest: str | None = None) -> Download:
    return Download(url, digest or hashlib.sha256(data).hexdigest(), len(data))


def serving(answer: Callable[[httpx.Request], httpx.Response]) -> httpx.MockTransport:
    return httpx.MockTransport(answer)


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("darwin", "arm64", "qdrant-aarch64-apple-darwin.tar.gz"),
        ("darwin", "x86_64", "qdrant-x86_64-apple-darwin.tar.gz"),
        ("linux", "x86_64", "qdrant-x86_64-unknown-linux-gnu.tar.gz"),
        ("linux", "aarch64", "qdrant-aarch64-unknown-linux-musl.tar.gz"),
        ("win32", "AMD64", "qdrant-x86_64-pc-windows-msvc.zip"),
    ],
)
def test_each_platform_has_its_archive(system: str, machine: str, name: str) -> None:
    assert archive_name(system, machine) == name


def test_another_platform_is_told_what_else_can_be_done() -> None:
    with pytest.raises(ProviderError, match="publishes no program for sunos on sparc"):
        archive_name("sunos", "sparc")


async def test_the_archive_is_found_with_its_digest() -> None:
    asset = {"name": "a.tar.gz", "browser_download_url": "https://cdn.example/a", "digest": "sha256:" + "AB" * 32, "size": 7}

    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == f"{RELEASES}/tags/v{qdrant_install.VERSION}"
        assert "authorization" not in request.headers
        return httpx.Response(200, json={"assets": [{"name": "other"}, asset]})

    found = await find("a.tar.gz", releases=RELEASES, transport=serving(answer))
    assert found == Download("https://cdn.example/a", "ab" * 32, 7)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"assets": []}, "has no archive"),
        ({"message": "rate limit"}, "has no archive"),
        ({"assets": [{"name": "a", "browser_download_url": "https://x/a"}]}, "No digest is published"),
        ({"assets": [{"name": "a", "browser_download_url": "http://x/a", "digest": "sha256:" + "0" * 64}]}, "isn't encrypted"),
    ],
)
async def test_a_release_that_does_not_fit_is_refused(body: dict[str, object], said: str) -> None:
    with pytest.raises(ProviderError, match=said):
        await find("a", releases=RELEASES, transport=serving(lambda _: httpx.Response(200, json=body)))


@pytest.mark.parametrize(
    ("data", "url"),
    [
        (tar({"README": b"x", "./qdrant": PROGRAM}), "https://example/q.tar.gz"),
        (zipped({"qdrant.exe": PROGRAM}), "https://example/q.zip"),
    ],
)
async def test_the_program_is_unpacked_and_can_be_run(tmp_path: Path, data: bytes, url: str) -> None:
    seen: list[tuple[int, int]] = []
    path = await install(
        download(data, url), tmp_path, progress=lambda done, total: seen.append((done, total)),
        transport=serving(lambda _: httpx.Response(200, content=data)),
    )  # fmt: skip
    assert path == tmp_path / "bin" / program_name()
    assert path.read_bytes() == PROGRAM
    assert path.stat().st_mode & 0o111
    assert seen[-1] == (len(data), len(data))
    assert names(tmp_path) == ["bin"], "nothing else stays"


GOOD = tar({"qdrant": PROGRAM})


@pytest.mark.parametrize(
    ("data", "wanted", "said"),
    [
        (GOOD, download(GOOD, digest="0" * 64), "not 0000"),
        (GOOD[:-9], download(GOOD), "SHA-256"),
        (tar({"other": b""}), None, "holds no program"),
        (tar({}, link="qdrant"), None, "holds no program"),
        (b"<html>", None, "can't be read"),
    ],
    ids=["another digest", "cut short", "another file", "a link", "a page"],
)
async def test_what_is_not_the_program_leaves_the_old_one(
    tmp_path: Path, data: bytes, wanted: Download | None, said: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / program_name()).write_text("old")
    with pytest.raises(ProviderError, match=said):
        await install(wanted or download(data), tmp_path, transport=serving(lambda _: httpx.Response(200, content=data)))
    assert (tmp_path / "bin" / program_name()).read_text() == "old"
    assert names(tmp_path) == ["bin"]


async def test_a_redirect_is_followed_to_encrypted_places_only(tmp_path: Path) -> None:
    def to(location: str) -> httpx.MockTransport:
        def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/qdrant.tar.gz":
                return httpx.Response(302, headers={"location": location})
            return httpx.Response(200, content=GOOD)

        return serving(answer)

    assert (await install(download(GOOD), tmp_path, transport=to("https://cdn.example/file"))).exists()
    with pytest.raises(ProviderError, match="isn't encrypted"):
        await install(download(GOOD), tmp_path, transport=to("http://cdn.example/file"))
    with pytest.raises(ProviderError, match="without an end"):
        await install(download(GOOD), tmp_path, transport=to("/qdrant.tar.gz"))


async def test_an_archive_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_install, "MOST_BYTES", 1_000)
    big = tar({"qdrant": b"\0" * 100_000})
    transport = serving(lambda _: httpx.Response(200, content=big))
    with pytest.raises(ProviderError, match="larger than"):
        await install(download(big), tmp_path, transport=transport)


@pytest.mark.parametrize("answer", [httpx.Response(404), httpx.Response(503), httpx.ConnectError("x")])
async def test_a_network_that_fails_is_told(tmp_path: Path, answer: httpx.Response | Exception) -> None:
    def give(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ProviderError, match=r"answered|can't be reached") as raised:
        await install(download(GOOD), tmp_path, transport=serving(give))
    assert raised.value.retryable


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can't be written"):
        await install(download(GOOD), tmp_path / "file", transport=serving(lambda _: httpx.Response(200, content=GOOD)))


async def test_a_full_disk_is_told_and_leaves_the_old_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept = await install(download(GOOD), tmp_path, transport=serving(lambda _: httpx.Response(200, content=GOOD)))
    before = [kept.read_bytes()]

    def files() -> list[bytes]:
        return [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]

    monkeypatch.setattr("carrel.extensions.stores.qdrant_install._fetch", full)
    with pytest.raises(StoreError, match=r"No space left on device.*Free some space"):
        await install(download(GOOD), tmp_path, transport=serving(lambda _: httpx.Response(200, content=GOOD)))
    assert files() == before, "nothing half is left"

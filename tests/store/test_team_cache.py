"""What a team shares: paid once, readable with the secret only, and never in an index run's way."""

from __future__ import annotations

import asyncio
import http.server
import json
import multiprocessing
import os
import struct
import subprocess
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract import object_store, qdrant_server

pytest.importorskip("cryptography", reason="the extra team isn't installed")
pytest.importorskip("obstore", reason="the extra s3 isn't installed")

from tests.contract.certificates import Authority

from carrel.core.errors import CarrelError, InvalidInput, NotAllowed, ProviderError, StoreError
from carrel.core.outbound import Destination, Load, Outbound, Secret, collect, summed
from carrel.core.vectors import Vectors
from carrel.providers.keys import StandardKeys
from carrel.providers.object_values import _VARIABLES, ObjectValues
from carrel.providers.qdrant_values import QdrantValues
from carrel.server.permissions import PermissionFile
from carrel.server.team import find_seal, make_team_cache, team_destination
from carrel.server.team_settings import TeamSettings
from carrel.store.embedding_cache import CachedEmbedder, EmbeddingCache
from carrel.store.folder_values import FolderValues
from carrel.store.team_cache import TeamCache, TeamStatus
from carrel.store.team_ledger import TeamLedger
from carrel.store.team_seal import CHECK_KEY, TeamSeal
from carrel.store.usage import Limits, UsageMeter

from .test_embedding_cache import DIM, Service

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


def objects(tmp_path: Path, endpoint: str, keys: Mapping[str, str] = object_store.KEYS, **named: str) -> ObjectValues:
    around = Outbound(PermissionFile(tmp_path / "permissions.json"), StandardKeys(keys), UsageMeter(None, Limits))
    url = f"s3://{object_store.BUCKET}/acme"
    return ObjectValues(around, url, f"carrel-{uuid.uuid4().hex[:8]}", endpoint=endpoint, **named)


# --- the contract, over all places


@pytest.fixture(params=["folder", "qdrant", "s3"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "folder":
        yield FolderValues(tmp_path / "shared")
        return
    if request.param == "s3":
        with object_store.running() as endpoint:
            yield objects(tmp_path, endpoint)
        return
    collection = f"carrel-team-{os.getpid()}-{request.node.name[-20:].strip('[]')}"
    url = qdrant_server.server_url()
    values = QdrantValues(outbound(tmp_path), url, collection)
    yield values
    await values.aclose()
    async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
        await client.delete(f"/collections/{collection}")


async def test_what_one_developer_paid_nobody_pays_again(place: Any, tmp_path: Path) -> None:
    first, second = Developer(tmp_path / "1", place), Developer(tmp_path / "2", place)
    given = await first.vectors([*TEXTS, ""])
    assert first.service.asked == [*TEXTS, ""]
    found = await second.vectors([TEXTS[2], "def three(): ...", *TEXTS[:2]])
    assert second.service.asked == ["def three(): ..."]
    assert [found[n] for n in (2, 3, 0)] == list(given)[:3]
    assert (await first.status()).shared == 4
    assert (await second.status()).found == 3
    assert (await second.status()).missed == 1
    await second.vectors()
    assert (await second.status()).found == 3, "the cache of the machine stands in front"


async def test_the_estimate_of_a_first_index_knows_what_the_team_has(place: Any, tmp_path: Path) -> None:
    first, second = Developer(tmp_path / "1", place), Developer(tmp_path / "2", place)
    await first.vectors()
    assert await asyncio.to_thread(second.model.missing, [*TEXTS, "new"]) == ["new"]
    asked = (await second.status()).found
    await second.vectors()
    assert (await second.status()).found == asked, "it was fetched for the estimate"
    assert second.service.asked == []
    await second.model.aclose()


async def test_another_secret_finds_nothing_adds_nothing_and_says_so(place: Any, tmp_path: Path) -> None:
    await Developer(tmp_path / "1", place).vectors()
    other = Developer(tmp_path / "2", place, OTHER)
    assert (await other.vectors()).fault(DIM, 3) is None
    assert other.service.asked == TEXTS
    assert "another secret" in str(other.model.problem)
    assert "carrel models key team" in str(other.model.problem)
    status = await other.team.probe()
    assert (status.state, status.found, status.shared, status.waiting) == ("waiting", 0, 0, 0)
    third = Developer(tmp_path / "3", place)
    await third.vectors()
    assert third.service.asked == []


async def test_a_place_that_is_empty_has_nothing(place: Any) -> None:
    assert await place.read([CHECK_KEY, bytes(16)]) == {}
    await place.write({bytes(16): b"\0\xff value"})
    assert await place.read([CHECK_KEY, bytes(16)]) == {bytes(16): b"\0\xff value"}


async def test_no_text_no_path_and_no_readable_vector_is_kept(tmp_path: Path) -> None:
    developer = Developer(tmp_path / "1", FolderValues(tmp_path / "shared"))
    vectors = await developer.vectors()
    await developer.vectors(["a question with a wombat"], "query")
    files = [path for path in (tmp_path / "shared").rglob("*") if path.is_file()]
    assert len(files) == 4, "three vectors and the check value: questions are nobody else's business"
    kept = b"".join(path.read_bytes() for path in files) + b"".join(path.name.encode() for path in files)
    assert b"wombat" not in kept
    assert struct.pack(f"<{DIM}e", *vectors.floats(0))[:16] not in kept
    assert not any(key.hex() in str(path).replace("/", "") for key in developer.model.keys(TEXTS, "document") for path in files)


# --- lies


async def test_what_the_team_did_not_make_is_not_believed(tmp_path: Path) -> None:
    values = Memory()
    await Developer(tmp_path / "1", values).vectors()
    seal = TeamSeal(Secret(SECRET))
    one, two, three = (seal.key(key) for key in Developer(tmp_path / "2", values).model.keys(TEXTS, "document"))
    good = dict(values.held)
    nan = struct.pack(f"<{DIM}e", float("nan"), *[0.0] * (DIM - 1))
    for lie in (
        b"",
        b"x" * 11,
        b"\0" * 100,
        good[two],  # another text's vector
        good[one][:-1] + bytes([good[one][-1] ^ 1]),
        TeamSeal(Secret(OTHER)).seal(one, seal.unseal(one, good[one]) or b""),
        seal.seal(one, b"\0" * 2 * (DIM + 1)),
        seal.seal(one, nan),
        seal.seal(one, struct.pack(f"<{DIM}e", *[9.0] * DIM)),
        seal.seal(one, bytes(2 * DIM)),
    ):
        values.held = {**good, one: lie}
        developer = Developer(tmp_path / str(hash(lie)), values)
        assert (await developer.vectors()).fault(DIM, 3) is None
        assert developer.service.asked == [TEXTS[0]]
        assert (await developer.status()).refused == 1
        assert values.held[one] != lie, "it is replaced by what was paid for"
    assert three in values.held


def test_a_secret_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="token_urlsafe") as raised:
        TeamSeal(Secret("our team"))
    assert "our team" not in str(raised.value)


# --- a place that is gone or slow


@pytest.mark.parametrize("how", ["gone", "hangs"])
async def test_a_place_that_fails_costs_one_deadline_and_is_told(tmp_path: Path, how: str) -> None:
    values = Memory()
    developer = Developer(tmp_path, values)
    await developer.vectors(["before"])
    values.error = ProviderError("The place is gone", "Start it.") if how == "gone" else None
    values.hangs = how == "hangs"
    asked = values.asked
    for number in range(20):
        await developer.vectors([f"text {number}"])
    assert values.asked == asked + 1, "it is left alone after one failure"
    assert developer.model.problem
    status = await developer.status()
    assert (status.state, status.waiting) == ("unreachable", 20)
    developer.now = 9.0
    await developer.vectors(["9"])
    assert values.asked == asked + 1
    developer.now = 11.0
    await developer.vectors(["11"])
    assert values.asked == asked + 2
    values.error, values.hangs, developer.now = None, False, 1_000.0
    await developer.vectors(["back"])
    assert developer.model.problem is None
    status = await developer.status()
    assert (status.state, status.waiting, status.shared) == ("ready", 0, 24)
    other = Developer(tmp_path / "other", values)
    await other.vectors([f"text {number}" for number in range(20)])
    assert other.service.asked == []


async def test_each_request_of_a_batch_has_a_deadline_of_its_own(tmp_path: Path) -> None:
    values, texts = Memory(), [f"text {number}" for number in range(1_200)]
    first, second = Developer(tmp_path / "1", values), Developer(tmp_path / "2", values)
    for developer in (first, second):
        developer.team._read_seconds = developer.team._write_seconds = 0.5
    values.seconds = 0.05  # 12 requests take more than one may
    await first.vectors(texts)
    assert (await first.status()).shared == 1_200
    await second.vectors(texts)
    assert second.service.asked == []


async def test_a_batch_has_its_time_and_what_was_found_in_it_counts(tmp_path: Path) -> None:
    values, texts = Memory(), [f"text {number}" for number in range(1_200)]
    await Developer(tmp_path / "1", values).vectors(texts)
    slow = Developer(tmp_path / "2", values)

    def meet() -> None:
        slow.now += 2.0

    values.meet = meet
    await slow.vectors(texts)
    status = await slow.status()
    assert (status.found, status.missed, len(slow.service.asked), status.waiting) == (800, 0, 400, 400)
    assert "took more than 15 s for one batch" in str(slow.model.problem)


async def test_a_key_that_only_reads_is_used_and_nothing_waits(tmp_path: Path) -> None:
    values = Memory()
    await Developer(tmp_path / "1", values).vectors()
    values.write_error = ProviderError("refused the key (403)", status=403)
    reader = Developer(tmp_path / "2", values)
    await reader.vectors([*TEXTS, "new", "newer"])
    assert reader.service.asked == ["new", "newer"]
    status = await reader.status()
    assert (status.state, status.found, status.waiting, status.problem) == ("ready", 3, 0, "")


async def test_a_missing_secret_is_told_and_looked_for_again(tmp_path: Path) -> None:
    values = Memory()
    developer = Developer(tmp_path, values, None)
    await developer.vectors()
    assert "CARREL_TEAM_SECRET" in str(developer.model.problem)
    assert values.asked == 0
    developer.team._find_seal = lambda: TeamSeal(Secret(SECRET))
    developer.now = 11.0
    await developer.vectors(["more"])
    assert developer.model.problem is None
    assert len(values.held) == 2


async def test_a_folder_whose_mount_is_gone_is_told(tmp_path: Path) -> None:
    developer = Developer(tmp_path, FolderValues(tmp_path / "mount" / "carrel-team"))
    assert len(await developer.vectors()) == 3
    assert "mount" in str(developer.model.problem)
    assert not (tmp_path / "mount").exists()


async def test_a_ledger_that_cannot_be_used_costs_only_what_it_counts(tmp_path: Path) -> None:
    (tmp_path / "team.sqlite").mkdir()
    values = Memory()
    developer = Developer(tmp_path, values)
    await developer.vectors()
    values.error, developer.now = StoreError("gone"), 0.0
    await developer.vectors(["more"])
    assert await developer.status() == TeamStatus("the team's place", "unreachable", problem="gone")


# --- an object store


async def test_a_key_of_the_keyring_is_one_word(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        access, secret = (object_store.KEYS[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
        one = objects(tmp_path, endpoint, {"PLANTED": f"{access}:{secret}"}, key="env:PLANTED")
        await one.write({bytes(16): b"value"})
        assert await one.read([bytes(16)]) == {bytes(16): b"value"}


@pytest.mark.parametrize(
    ("keys", "named", "part"),
    [
        ({}, {}, "carrel models key s3"),
        ({"PLANTED": "planted-key"}, {"key": "env:PLANTED"}, "ID:SECRET"),
        ({"AWS_ACCESS_KEY_ID": "planted-id", "AWS_SECRET_ACCESS_KEY": "planted-key"}, {}, r"refused the key \(403\)"),
        (dict.fromkeys(_VARIABLES, "planted"), {}, "temporary key .* was not sent"),
    ],
)
async def test_a_key_that_is_missing_or_wrong_is_told_and_never_shown(
    tmp_path: Path, keys: dict[str, str], named: dict[str, str], part: str
) -> None:
    if "403" in part and object_store.ENDPOINT:
        pytest.skip("a stand-in knows its key; the real server may take any")
    with object_store.running() as endpoint, pytest.raises(ProviderError, match=part) as raised:
        await objects(tmp_path, endpoint, keys, **named).write({bytes(16): b"value"})
    assert "planted" not in str(raised.value)


async def test_a_bucket_that_is_not_there_holds_nothing_and_takes_nothing(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        values._bucket = "no-such-bucket"
        assert await values.read([bytes(16)]) == {}
        with pytest.raises(ProviderError, match="no such bucket"):
            await values.write({bytes(16): b"value"})


async def test_nothing_goes_to_an_object_store_before_a_person_allowed_it_nor_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = objects(tmp_path, "")
    with pytest.raises(NotAllowed, match=r"carrel confirm team s3\.us-east-1\.amazonaws\.com"):
        await elsewhere.read([bytes(16)])
    PermissionFile(tmp_path / "permissions.json").allow(Destination("team", "minio.example:80"))
    with pytest.raises(ProviderError, match="without encryption"):
        await objects(tmp_path, "http://minio.example").write({bytes(16): b"value"})
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{qdrant_server.free_port()}")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{qdrant_server.free_port()}")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        with collect() as receipt:
            await values.write({bytes(16): b"value"})
            assert await values.read([bytes(16), bytes(15) + b"1"]) == {bytes(16): b"value"}, "the environment decides nothing"
    (sent,) = summed(receipt)
    assert (sent.destination, sent.role, sent.bytes) == (values.destinations[0], "store", 5)
    assert sent.load.requests == 3


async def test_an_authority_of_ones_own_is_trusted_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    with object_store.running(authority.certificate()) as endpoint:
        with pytest.raises(ProviderError, match=r"isn't trusted.*SSL_CERT_FILE"):
            await objects(tmp_path, endpoint).read([bytes(16)])
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        values = objects(tmp_path, endpoint)
        await values.write({bytes(16): b"value"})
        assert await values.read([bytes(16)]) == {bytes(16): b"value"}


async def test_the_settings_name_an_object_store(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        settings = TeamSettings(url=f"s3://{object_store.BUCKET}/acme/", endpoint=endpoint, key="env:PLANTED")
        keys = StandardKeys({"PLANTED": ":".join(object_store.KEYS.values()), "CARREL_TEAM_SECRET": SECRET})
        around = Outbound(PermissionFile(tmp_path / "permissions.json"), keys, UsageMeter(None, Limits))
        cache = make_team_cache(settings, around, tmp_path / "team.sqlite")
        assert cache is not None
        assert (await cache.probe()).state == "ready"
        assert str(team_destination(settings, around)) == f"team at {endpoint.partition('://')[2]}"
        assert cache.place == f"carrel-team in s3://{object_store.BUCKET}/acme at {endpoint.partition('://')[2]}"


async def test_an_object_that_nobody_of_the_team_made_is_bounded(tmp_path: Path) -> None:
    with object_store.running() as endpoint:
        values = objects(tmp_path, endpoint)
        await values.write({bytes(16): b"x" * 200_000})
        assert await values.read([bytes(16)]) == {bytes(16): b""}


# --- Qdrant


async def test_nothing_is_sent_before_a_person_allowed_it_and_no_key_without_encryption(tmp_path: Path) -> None:
    around = outbound(tmp_path, "planted-key")
    values = QdrantValues(around, "http://qdrant.example:6333", "carrel-team")
    with pytest.raises(NotAllowed, match=r"carrel confirm team qdrant\.example:6333"):
        await values.read([bytes(16)])
    developer = Developer(tmp_path / "1", values)
    await developer.vectors()
    assert "carrel confirm team" in str(developer.model.problem)
    assert (await developer.status()).waiting == 3
    PermissionFile(tmp_path / "permissions.json").allow(Destination("team", "qdrant.example:6333"))
    with pytest.raises(ProviderError, match="without encryption") as raised:
        await values.read([bytes(16)])
    assert "planted-key" not in str(raised.value)


async def test_what_was_sent_is_counted(tmp_path: Path) -> None:
    around = outbound(tmp_path)
    values = QdrantValues(around, qdrant_server.server_url(), f"carrel-team-count-{os.getpid()}")
    with collect() as receipt:
        await Developer(tmp_path, values).vectors()
    (sent,) = summed(receipt)
    assert (sent.destination, sent.role) == (values.destinations[0], "store")
    assert sent.load == Load(requests=sent.load.requests)
    assert 3 <= sent.load.requests <= 10
    assert sent.bytes > 3 * DIM
    assert around.meter.total(values.destinations[0]).requests >= 3  # type: ignore[attr-defined]
    await values.aclose()


def working(folder: Path, url: str, collection: str, first: int, results: Any) -> None:
    async def work() -> None:
        values = QdrantValues(outbound(folder), url, collection)
        developer = Developer(folder, values)
        for at in range(first, first + 40, 10):
            await developer.vectors([f"text {number}" for number in range(at, at + 10)])
        await values.aclose()
        results.put((len(developer.service.asked), str(developer.model.problem)))

    asyncio.run(work())


def test_two_writers_at_once(tmp_path: Path) -> None:
    url, collection = qdrant_server.server_url(), f"carrel-team-two-{os.getpid()}"
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=working, args=(tmp_path / str(n), url, collection, 20 * n, results)) for n in range(2)]
    for worker in workers:
        worker.start()
    paid = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert all(problem == "None" for _, problem in paid)
    assert 60 <= sum(number for number, _ in paid) <= 80
    values = QdrantValues(outbound(tmp_path), url, collection)

    async def third() -> list[str]:
        developer = Developer(tmp_path / "3", values)
        await developer.vectors([f"text {number}" for number in range(60)])
        await values.aclose()
        return developer.service.asked

    assert asyncio.run(third()) == []


async def test_a_server_that_is_killed_in_the_middle_is_told_what_it_missed(tmp_path: Path) -> None:
    url, process, folder = await asyncio.to_thread(qdrant_server.start, qdrant_server.binary())
    values = QdrantValues(outbound(tmp_path), url, "carrel-team")
    developer = Developer(tmp_path / "1", values)
    await developer.vectors(TEXTS[:1])
    process.kill()
    await asyncio.to_thread(process.wait)
    assert len(await developer.vectors()) == 3
    assert (await developer.status()).waiting == 2
    again = await asyncio.create_subprocess_exec(
        *(qdrant_server.binary(), "--config-path", str(folder / "config.yaml"), "--disable-telemetry"),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(30):
            while (status := await developer.team.probe()).waiting:  # noqa: ASYNC110 - another process is waited for
                await asyncio.sleep(0.1)
        assert status.shared == 3
        other = Developer(tmp_path / "2", values)
        await other.vectors()
        assert other.service.asked == []
    finally:
        await values.aclose()
        again.kill()
        await again.wait()


class Liar(http.server.BaseHTTPRequestHandler):
    """Answers everything with the server's `body`."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body: bytes = self.server.body  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST  # noqa: N815 - the base class calls it by this name

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class names it so


@pytest.fixture
def liar() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


async def test_odd_answers_are_errors_or_nothing(liar: Any, tmp_path: Path) -> None:
    values = QdrantValues(outbound(tmp_path), f"http://127.0.0.1:{liar.server_address[1]}", "carrel-team")
    for body in (b"<html>", b"", b"null", b"[]", b"{}", b'{"result": 1}', b"[" * 100_000):
        liar.body = body
        with pytest.raises(ProviderError):
            await values.read([bytes(16)])
    identity = "00000000-0000-0000-0000-000000000000"
    for point, found in (
        (None, {}),
        ({}, {}),
        ({"id": 5, "payload": {"value": "AA=="}}, {}),
        ({"id": identity, "payload": None}, {}),
        ({"id": identity, "payload": {"value": 7}}, {}),
        ({"id": identity.replace("0", "1"), "payload": {"value": "AA=="}}, {}),
        ({"id": identity, "payload": {"value": "no base 64"}}, {bytes(16): b""}),
        ({"id": identity, "payload": {"value": "AA=="}}, {bytes(16): b"\0"}),
    ):
        liar.body = json.dumps({"result": [point]}).encode()
        assert await values.read([bytes(16)]) == found
    await values.aclose()

"""Try the remote parts in ten checks: Copilot's sign-in, exchange and embeddings, the Qdrant server, and a round trip.

What needs GitHub asks a stand-in on this machine, or GitHub itself; Qdrant is the real program, with a folder of its own.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct, field

from carrel.assist.assisted_retrieval import ALONE, Question, retrieve_assisted
from carrel.composition.composition import Composition
from carrel.composition.outbound import OutboundServices
from carrel.extensions.stores import qdrant_install, qdrant_process
from carrel.index.replica import vector_records
from carrel.model.errors import CarrelError, place_of
from carrel.model.installation import how_to_install
from carrel.model.native import CancelToken
from carrel.model.outbound import Outbound
from carrel.model.ports import ChunkId, PublishedVectors, VectorRecord, Where
from carrel.model.types import Query
from carrel.policy.permissions import PermissionFile
from carrel.policy.usage import Limits, UsageMeter
from carrel.providers.copilot_embeddings import CopilotEmbedder, SessionAuth, SignIn
from carrel.providers.keys import StandardKeys
from carrel.providers.local import bundled
from carrel.search.retriever import read
from carrel.selftest import stand_in_service as selftest_service
from carrel.settings.model_settings import ModelSettings
from carrel.settings.settings import Settings
from carrel.system.jobs import Work
from carrel.upkeep.index_jobs import IndexRunner

if TYPE_CHECKING:
    from carrel.extensions.stores.qdrant import QdrantStore
    from carrel.index.open_index import OpenIndex
    from carrel.model.types import Hit
    from carrel.model.vectors import Vectors

T = TypeVar("T")
Verdict = Literal["passed", "failed", "skipped"]
DIM = 1536
START_SECONDS = 15.0
SNIPPETS = {
    "login.kt": "fun authenticateUser(login: String, password: String): Session {\n"
    "    // log the user in: check the credentials, then open a session\n"
    "    val user = users.findByLogin(login) ?: throw LoginFailed()\n    return sessions.open(user, hash(password))\n}",
    "orders.kt": "data class Order(val id: Long, val customer: String, val items: List<Item>, val total: Money)",
    "database.kt": "class DatabaseConnection(config: PoolConfiguration) {\n"
    "    // the configuration of the database connection pool\n"
    "    val pool = ConnectionPool(config.maxPoolSize, config.timeout)\n}",
}
QUESTIONS = {"how does login work?": "login.kt", "database pool configuration": "database.kt"}


class Check(Struct, frozen=True):
    """What one check found. `against` says what was asked: `stand-in`, `live`, or `this machine`."""

    number: int
    name: str
    verdict: Verdict
    against: str
    detail: str
    milliseconds: float


class _Surroundings(Struct):
    """What the checks share."""

    outbound: Outbound
    against: str
    sign_in_file: Path | None
    base_url: str
    token_url: str
    key: str
    releases: str
    folder: Path
    program: Path | None
    version: str = ""
    embedder: CopilotEmbedder | None = None
    running: qdrant_process.RunningQdrant | None = None
    kept: AsyncExitStack = field(default_factory=AsyncExitStack)


class Skipped(Exception):
    """A check can't be made here, which is no failure."""


def may_be_live(settings: Settings) -> bool:
    """Tell whether there is a sign-in and a person allowed all that it is sent to."""
    services = OutboundServices()
    embedder = CopilotEmbedder(services.of(settings))
    try:
        SignIn(services.of(settings), "").find()
    except CarrelError:
        return False
    return all(map(services.permissions.allows, embedder.destinations))


async def selftest(
    settings: Settings, *, live: bool, program: Path | None = None, notify: Callable[[Check], None] = lambda _: None
) -> list[Check]:
    """Run the ten checks in order; `notify` gets each as it ends. A check that fails doesn't stop the others."""
    checks: list[tuple[str, Callable[[_Surroundings], Awaitable[str]]]] = [
        ("token read", _token),
        ("token exchange", _exchange),
        ("one embedding", _one_embedding),
        ("a batch of three", _three_embeddings),
        ("Qdrant's program for this platform", _program),
        ("Qdrant's start", _start),
        ("collection made, verified, deleted", _collection),
        ("upsert and exact search", _exact_search),
        ("delete by filter", _delete_by_filter),
        ("round trip", _round_trip),
    ]
    results: list[Check] = []
    with ExitStack() as stack:
        around = _surroundings(settings, stack, live=live, program=program)
        async with around.kept:
            for number, (name, check) in enumerate(checks, 1):
                began = time.perf_counter()
                try:
                    async with asyncio.timeout(120):
                        verdict, detail = "passed", await check(around)
                except Skipped as reason:
                    verdict, detail = "skipped", str(reason)
                except (CarrelError, TimeoutError) as error:
                    verdict, detail = "failed", str(error) or type(error).__name__
                except Exception as error:
                    verdict, detail = "failed", f"{type(error).__name__} at {place_of(error)}"
                remote = number in (1, 2, 3, 4, 10)
                against = around.against if remote else "this machine"
                spent = round(1000 * (time.perf_counter() - began), 1)
                results.append(Check(number, name, verdict, against, detail, spent))  # type: ignore[arg-type]
                notify(results[-1])
    return results


def _surroundings(settings: Settings, stack: ExitStack, *, live: bool, program: Path | None) -> _Surroundings:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="carrel-selftest-", ignore_cleanup_errors=True)))
    chosen = str(program) if program else settings.store.program
    import platformdirs  # noqa: PLC0415 - not every start needs it

    installed = platformdirs.user_data_path("carrel", appauthor=False) / "qdrant"
    qdrant = qdrant_process.find_program(installed, chosen)
    model = bundled()

    def embed(text: str) -> bytes:
        return asyncio.run(model.embed([text], "document"))[0]

    service = stack.enter_context(selftest_service.serving(embed, qdrant_install.archive_name(), qdrant_install.VERSION))
    if live:
        outbound = OutboundServices().of(settings)
        return _Surroundings(outbound, "live", None, "", "", "", f"{service.url}/releases", folder, qdrant)
    sign_in = folder / "apps.json"
    sign_in.write_text(json.dumps({"github.com:Iv1.selftest": {"oauth_token": selftest_service.SIGN_IN}}), "utf-8")
    meter = UsageMeter(folder / "usage.sqlite", Limits)
    stack.callback(meter.close)
    keys = StandardKeys({"CARREL_SELFTEST": selftest_service.SIGN_IN})
    outbound = Outbound(PermissionFile(folder / "permissions.json"), keys, meter)
    exchange = f"{service.url}/copilot_internal/v2/token"
    return _Surroundings(
        outbound, "stand-in", sign_in, service.url, exchange, "env:CARREL_SELFTEST", f"{service.url}/releases", folder, qdrant
    )


async def _token(around: _Surroundings) -> str:
    files = None if around.sign_in_file is None else (around.sign_in_file,)
    token = await asyncio.to_thread(SignIn(around.outbound, "", files=files).find)
    _require(len(token.reveal()) > 10, "the token is too short to be one")
    return "a token was found"


async def _exchange(around: _Surroundings) -> str:
    session = SessionAuth(around.outbound, SignIn(around.outbound, around.key), around.token_url)
    try:
        headers = await session.headers()
        left = session.seconds_left
    finally:
        await session.aclose()
    _require(headers["Authorization"].startswith("Bearer "), "the answer holds no session token")
    _require(left > 60, "the session token has no expiry")
    return f"a session token that is renewed in {left / 60:.0f} minutes"


def _embedder(around: _Surroundings) -> CopilotEmbedder:
    if around.embedder is None:
        around.embedder = CopilotEmbedder(
            around.outbound, ModelSettings(base_url=around.base_url, token_url=around.token_url, key=around.key)
        )
        around.kept.push_async_callback(around.embedder.aclose)
    return around.embedder


async def _embedded(around: _Surroundings, texts: list[str]) -> Vectors:
    return await _embedder(around).embed(texts, "document")


async def _one_embedding(around: _Surroundings) -> str:
    [values] = [(await _embedded(around, ["def login(user, password): ..."])).floats(0)]
    _require(len(values) == DIM, f"the vector has {len(values)} values, not {DIM}")
    _require(any(values), "the vector is zero")
    return f"{DIM} values, not all zero"


async def _three_embeddings(around: _Surroundings) -> str:
    texts = ["fun login(user, password)", "fun authenticate(user, password)", "class InvoicePrinter(paper, margin)"]
    rows = [(await _embedded(around, texts)).floats(row) for row in range(3)]
    _require(len(set(rows)) == 3, "two of the vectors are equal")
    related, first, second = (_cosine(rows[a], rows[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    _require(related > max(first, second), f"the related pair has {related:.2f}, another {max(first, second):.2f}")
    return f"related {related:.2f}, others {first:.2f} and {second:.2f}"


async def _program(around: _Surroundings) -> str:
    """Find the program; and install one from the stand-in's releases, into a folder that goes."""
    download = await qdrant_install.find(qdrant_install.archive_name(), releases=around.releases)
    installed = await qdrant_install.install(download, around.folder / "download")
    _require(installed.is_file(), "the download left no program")
    if around.program is None:
        raise Skipped("no program on this machine (the download works, against the stand-in); carrel store install")
    around.version = await asyncio.to_thread(qdrant_process.check_version, around.program)
    return f"{around.program}, {around.version}; the download works, against the stand-in"


async def _start(around: _Surroundings) -> str:
    if around.program is None:
        raise Skipped("there is no program")
    began = time.perf_counter()
    around.running = await qdrant_process.start(around.folder / "qdrant", around.program, grace=0.5)
    around.kept.callback(around.running.close)
    seconds = time.perf_counter() - began
    _require(seconds <= START_SECONDS, f"it took {seconds:.1f} s")
    return f"it answers after {seconds:.1f} s at {around.running.url}"


def _store(around: _Surroundings) -> QdrantStore:
    try:
        from carrel.extensions.stores.qdrant import QdrantStore, connect  # noqa: PLC0415 - an extra
    except ImportError:
        raise Skipped(how_to_install("qdrant")) from None
    if around.running is None:
        raise Skipped("there is no running server")
    client = connect(around.running.url, around.running.key, 30, "")
    around.kept.push_async_callback(client.close)
    return QdrantStore(client, f"carrel-selftest-{uuid.uuid4().hex[:8]}", DIM, leaves_machine=False)


def _direction(place: int) -> bytes:
    return struct.pack(f"<{DIM}f", *(1.0 if at == place else 0.0 for at in range(DIM)))


def _point(place: int, path: str = "a.kt") -> VectorRecord:
    return VectorRecord(ChunkId(f"{place:032x}"), _direction(place), {"path": path})


async def _collection(around: _Surroundings) -> str:
    store = _store(around)
    await store.open()
    _require(await store.count() == 0, "a new collection isn't empty")
    size = await store.dimension()
    _require(size == DIM, f"the collection holds vectors of {size} values")
    await store.drop()
    _require(await store.dimension() is None, "it is still there")
    return f"vectors of {DIM} values, by cosine"


async def _exact_search(around: _Surroundings) -> str:
    store = _store(around)
    await store.publish([_point(1), _point(2), _point(3)])
    hits = await store.search(_direction(2), 3)
    await store.drop()
    _require(hits and hits[0][0] == f"{2:032x}", "another point comes first")
    _require(math.isclose(hits[0][1], 1.0, abs_tol=1e-4), f"its score is {hits[0][1]:.4f}, not 1")
    return "three points, the right one first with score 1.0"


async def _delete_by_filter(around: _Surroundings) -> str:
    store = _store(around)
    await store.publish([_point(1, "a.kt"), _point(2, "b.kt"), _point(3, "b.kt")])
    await store.delete_where(Where({"path": ("b.kt",)}))
    left = [chunk async for page in store.ids() for chunk in page]
    await store.drop()
    _require(left == [f"{1:032x}"], f"{len(left)} points are left, not the one")
    return "the points of one file are gone, the other stays"


async def _round_trip(around: _Surroundings) -> str:
    """Index the snippets with Copilot's model, publish them, and ask as any question is asked."""
    store, embedder = _store(around), _embedder(around)
    index = await asyncio.to_thread(_index_of_snippets, around, embedder)
    try:
        await IndexRunner().run(index, Work(full=True), CancelToken(), lambda *_: None, asyncio.to_thread)
        _require(not index.store.failed_count, "; ".join(reason for _, reason in index.store.failed()))
        view = index.store.snapshot()
        ids = [ChunkId(chunk.id) for path in SNIPPETS for chunk in view.file_chunks(path)]
        _require(len(ids) == len(SNIPPETS), f"the index has {len(ids)} chunks of {len(SNIPPETS)} snippets")
        await store.publish(await asyncio.to_thread(lambda: vector_records(view, ids, with_content=True)))
        figures = []
        for question, wanted in QUESTIONS.items():
            hits = await _search(question, index, embedder, store)
            _require(hits, f"nothing is found for: {question}")
            _require(hits[0].chunk.path == wanted, f"another snippet comes first for: {question}")
            cosine, floor = hits[0].signals.dense or 0.0, embedder.spec.floor
            _require(cosine >= floor, f"{wanted} has {cosine:.2f}, below the model's floor of {floor:g}, for: {question}")
            figures.append(f"{wanted} {cosine:.2f}")
        return ", ".join(figures)
    finally:
        index.store.close()
        await store.drop()


def _index_of_snippets(around: _Surroundings, embedder: CopilotEmbedder) -> OpenIndex:
    root = around.folder / "snippets"
    root.mkdir()
    for path, text in SNIPPETS.items():
        (root / path).write_text(text, "utf-8")
    return Composition(embedder).open_index(root, Settings(cache_folder=str(around.folder / "cache")))


async def _search(question: str, index: OpenIndex, embedder: CopilotEmbedder, store: QdrantStore) -> Sequence[Hit]:
    query, token = Query(question, len(SNIPPETS)), CancelToken()

    def run(work: Callable[[CancelToken], T]) -> Awaitable[T]:
        return asyncio.to_thread(work, token)

    answer = await retrieve_assisted(
        Question(query),
        index.store.snapshot,
        embedder,
        ALONE,
        run,
        lambda ranking, token: read(ranking, query, token),
        outside=_OnlyStore(store),
    )
    problem = answer.diagnostics.problem
    _require(not problem, problem or "")
    return answer.hits


class _OnlyStore(Struct, frozen=True):
    """The vectors of the snippets in Qdrant."""

    store: QdrantStore

    def usable(self) -> PublishedVectors:
        """Return them."""
        return PublishedVectors(self.store)

    def failed(self, error: CarrelError) -> None:
        """Leave it to the answer, which says so."""


def _cosine(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True)) / (math.hypot(*left) * math.hypot(*right) or 1.0)


def _require(holds: object, otherwise: str) -> None:
    if not holds:
        raise CarrelError(otherwise)

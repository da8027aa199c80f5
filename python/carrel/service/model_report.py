"""Tell which models are set, where their text goes, whether they may be asked, and, when asked to, whether they answer.

Tell which store of vectors is set, where it sends them, and what is missing for it. Opens nothing and asks nobody.

Describe every source that a workspace's questions can be answered from.
"""

# ruff: noqa: PLC0415 - most settings name no store
from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.composition.models import BUNDLED, HASHED_WORDS, JUDGE, chat_models, embedders, key_variables, rerankers
from carrel.model.conversation import Message
from carrel.model.errors import CarrelError, NotAllowed, ProviderError, place_of
from carrel.model.outbound import Destination, destinations_of
from carrel.model.ports import Sampling
from carrel.model.remote import RemoteEmbedder
from carrel.settings.source_settings import WORKSPACE
from carrel.sources.served_source import SourceReport

if TYPE_CHECKING:
    from carrel.composition.composition import Composition
    from carrel.service.workspace import Workspace
    from carrel.settings.model_settings import ModelSettings
    from carrel.settings.settings import Settings


CHECK_SECONDS = 30.0
"""A local program may load its model first."""
_WORD = "carrel"


class ModelState(Struct, frozen=True):
    """A model as it is set. `answered_ms` and `problem` tell of a check, `problem` also of a model that can't be made."""

    role: str
    provider: str
    model: str
    destinations: tuple[Destination, ...] = ()
    allowed: bool = True
    has_key: bool = False
    lacks_key: bool = False  # it is elsewhere, asks for one, and there is none
    last_error: str = ""
    requests: int = 0
    tokens: int = 0
    dollars: float = 0.0
    answered_ms: float | None = None
    problem: str = ""


async def report(composition: Composition, settings: Settings, *, check: bool = False) -> list[ModelState]:
    """Describe the embedder, and each other model that is set. `check` asks each for as little as it can answer."""
    chosen = settings.models
    judge = chosen.reranker.provider == JUDGE and chosen.chat.provider  # then it is that provider's, with its key
    makers: dict[str, tuple[ModelSettings, Callable[[], Any], Callable[[Any], Awaitable[Any]]]] = {
        "embedder": (chosen.embedder, lambda: composition.embedder(settings), _embed_something),
        "reranker": (
            chosen.chat if judge else chosen.reranker,
            lambda: composition.reranker(settings),
            lambda model: model.rerank(_WORD, [_WORD]),
        ),
        "chat": (chosen.chat, lambda: composition.chat_model(settings), _say_something),
        "planner": (chosen.planner, lambda: composition.planner_model(settings), _say_something),
    }
    states = []
    for role, (model, make, ask) in makers.items():
        if role == "embedder" or model.provider:
            states.append(await _state(composition, settings, role, model, make, ask if check else None))
    return states


def providers_by_role() -> dict[str, tuple[str, ...]]:
    """Return the providers that can be set, by role."""
    chat = chat_models().names
    return {"embedder": embedders().names, "reranker": (*rerankers().names, JUDGE), "chat": chat, "planner": chat}


def key_names(settings: Settings) -> tuple[str, ...]:
    """Return the names that a key can be kept under: of what has a usual variable, of other services, and of tools' servers."""
    providers = {name for names in providers_by_role().values() for name in names if name not in (BUNDLED, HASHED_WORDS, JUDGE)}
    tools = {f"tools-{name}" for name, server in settings.tools.servers.items() if server.url}
    # The variable of Helicone says that it is to be asked at all, so no other place is looked into.
    kept = key_variables().keys() - {"helicone"}
    return tuple(sorted(providers | kept | tools))


async def _state(
    composition: Composition,
    settings: Settings,
    role: str,
    chosen: ModelSettings,
    make: Callable[[], Any],
    ask: Callable[[Any], Awaitable[Any]] | None,
) -> ModelState:
    state = ModelState(role, chosen.provider or "bundled", chosen.model)
    outbound = composition.outbound
    try:
        model = make()
        state = replace(state, model=chosen.model or model.spec.id, destinations=destinations_of(model))
        if state.destinations:
            key = await asyncio.to_thread(outbound.of(settings).keys.find, state.provider, chosen.key)
            asks = (
                chosen.key != "none"
                and state.provider in key_variables()
                and not all(place.local for place in state.destinations)
            )
            state = replace(state, has_key=key is not None, lacks_key=asks and key is None)
    except CarrelError as error:
        return replace(state, problem=str(error))
    state = replace(state, allowed=all(map(outbound.permissions.allows, state.destinations)))
    if ask:
        state = await _checked(state, model, ask)
    for destination in state.destinations:
        used = await asyncio.to_thread(outbound.meter.total, destination)
        state = replace(
            state,
            requests=state.requests + used.requests,
            tokens=state.tokens + used.tokens,
            dollars=state.dollars + used.dollars,
            last_error=outbound.meter.failures.get(destination, state.last_error),
        )
    return state


async def _checked(state: ModelState, model: Any, ask: Callable[[Any], Awaitable[Any]]) -> ModelState:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            await ask(model)
    except NotAllowed as error:
        return replace(state, allowed=False, problem=str(error))
    except CarrelError as error:
        return replace(state, problem=str(error))
    except TimeoutError:
        return replace(state, problem=f"There was no answer within {CHECK_SECONDS:g} s.")
    except Exception as error:
        return replace(state, problem=f"The model failed: {type(error).__name__} at {place_of(error)}.")
    return replace(state, answered_ms=round(1000 * (time.perf_counter() - began), 1))


async def _embed_something(model: Any) -> None:
    if not isinstance(model, RemoteEmbedder):
        await model.embed([_WORD], "query")
        return
    dim = await model.learn_dim()  # a vector that was kept would say nothing of the service
    if model.spec.dim not in (0, dim):
        raise ProviderError(
            f"The model gives vectors of {dim} values, not {model.spec.dim}", "Set `dimensions` to what it gives."
        )


async def _say_something(model: Any) -> None:
    async for _ in model.stream([Message("user", "Say OK.")], (), Sampling(temperature=0.0, max_tokens=16)):
        pass


class StoreState(Struct, frozen=True):
    """A store as it is set; `place` is empty for the index itself."""

    kind: str
    place: str = ""
    destinations: tuple[Destination, ...] = ()
    allowed: bool = True
    has_key: bool = False
    problem: str = ""


def store_report(composition: Composition, settings: Settings) -> StoreState:
    """Describe the store that is set. Reads the keyring and the disk."""
    chosen = settings.store
    if chosen.kind == "segments":
        return StoreState("segments")
    from carrel.composition import stores

    outbound = composition.outbound.of(settings)
    destination = stores.destination_of(chosen)
    problem, has_key = "", False
    if not stores.is_installed(chosen.kind):
        problem = stores.not_installed(chosen.kind)
    elif chosen.kind == "qdrant" and not chosen.url and stores.qdrant_program(chosen) is None:
        problem = f"{stores.NO_PROGRAM[0]}. {stores.NO_PROGRAM[1]}"
    if chosen.kind == "qdrant" and chosen.url:
        try:
            has_key = outbound.keys.find("qdrant", chosen.key) is not None
        except CarrelError as error:
            problem = str(error)
    places = (destination,) if destination else ()
    allowed = all(map(composition.outbound.permissions.allows, places))
    where = chosen.url or ("the managed Qdrant on this machine" if chosen.kind == "qdrant" else "a folder beside each index")
    return StoreState(chosen.kind, where, places, allowed, has_key, problem)


THE_WORKSPACE = "The code and documents of the user's workspace."


async def source_reports(workspace: Workspace) -> list[SourceReport]:
    """Return the workspace itself, then the sources beside it; makes no index."""
    status = await workspace.status()
    report = SourceReport(
        WORKSPACE,
        "code",
        THE_WORKSPACE,
        str(workspace.root),
        status.state,
        status.files,
        status.chunks,
        status.pending,
        status.last_indexed,
        (*status.problems, *((status.error,) if status.error else ())),
        status.failed,
    )
    return [report, *[await source.report() for source in workspace.sources()]]

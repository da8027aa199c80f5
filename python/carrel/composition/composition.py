"""Build what the server, the command line and the library are made of, from settings: the composition root.

Only this package and `selftest` name concrete classes of `providers` and `extensions`. Nothing here
runs a job. Imports are inside the functions: the server must answer `initialize` before any of it is loaded.
"""

# ruff: noqa: PLC0415 - search is imported by the first question, so that the server starts at once
from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload
from weakref import WeakSet

import msgspec
from msgspec.structs import replace

from carrel.composition.models import JUDGE, bundled, chat_models, embedders, rerankers
from carrel.composition.outbound import OutboundServices
from carrel.index import index_opening as opening
from carrel.index.index_location import INDEX_FILE, IndexLocation, cache_root, clean_up, discard, locate, prepare
from carrel.index.open_index import OpenIndex
from carrel.model.errors import CarrelError, InvalidInput, NewerFormat, ProviderError, StoreError
from carrel.model.remote import Confirm, RemoteEmbedder, refuse

if TYPE_CHECKING:
    from carrel.assist.assisted_retrieval import Assistants
    from carrel.composition.team import TeamCache
    from carrel.extensions.tools.tool_catalogue import ToolCatalogue
    from carrel.extensions.tools.tool_service import ToolService
    from carrel.model.native import CancelToken, Store
    from carrel.model.ports import ChatModel, Embedder, Reranker, Tokenizer, Tool
    from carrel.policy.audit import AuditTrail
    from carrel.question.planner_rules import When
    from carrel.settings.model_settings import ModelSettings
    from carrel.settings.settings import Planning, Settings

log = logging.getLogger(__name__)

M = TypeVar("M")

NO_CHAT_MODEL = (
    "No chat model is set",
    "Set one in your settings, as `carrel models set chat ollama qwen3` does; docs/models.md has more.",
)
"""Reason and remedy."""

CLOSE_SECONDS = 3.0
"""How long models are waited for that close."""
ENDING_SECONDS = 8.0
"""How long servers of tools are waited for that end: one that has to be killed takes about 5."""
EMBEDDING_CACHE = "embeddings.sqlite"

OF_THE_INDEX = (
    *("exclude", "excluded_folders", "editor_exclude", "max_file_bytes"),
    *("languages", "editor_languages", "chunking", "chunk_lines", "chunk_overlap", "class_lines"),
    *("secret_patterns", "secret_allow_paths", "secret_allow_rules"),
    *("storage", "cache_folder"),
    "store",
)
"""Settings that decide what an index holds or where it lives."""


class Composition:
    """Builds the parts of workspaces; tests hand in their own."""

    def __init__(
        self,
        embedder: Embedder | None = None,
        outbound: OutboundServices | None = None,
        confirm: Confirm = refuse,
        audit: AuditTrail | None = None,
    ) -> None:
        """Take the embedding model of every index, where the settings shall not choose it, and who asks a person what costs.

        Without `audit` nothing is recorded: front ends give one, a program that uses the library keeps its own records.
        """
        self._embedder = embedder
        self.audit = audit
        self.outbound = outbound or OutboundServices(audit=audit)
        self.confirm = confirm
        self._tools: ToolCatalogue | None = None
        self._team: tuple[object, TeamCache | None] | None = None
        self._in_use = WeakSet[Any]()
        """Models that may hold connections or a program."""
        self._ending: set[asyncio.Future[Any]] = set()

    def embedder(self, settings: Settings) -> Embedder:
        """Return the embedding model that is set, the bundled one where none is. Raises `InvalidInput`.

        A remote one has a cache of its vectors before it: also one on this machine, whose processor is busy for minutes.
        """
        if self._embedder is not None:
            return self._embedder
        chosen = settings.models.embedder
        if not chosen.provider:
            return bundled()
        made = embedders().make(chosen, self.outbound.of(settings))
        if not isinstance(made, RemoteEmbedder):
            return made
        from carrel.extensions.team.embedding_cache import CachedEmbedder, EmbeddingCache

        cache = EmbeddingCache(cache_root(settings)[0].parent / EMBEDDING_CACHE)
        team = self.team_cache(settings)
        return CachedEmbedder(made, cache, opening.question_mask(settings), team, msgspec.json.encode(chosen).decode())

    def team_cache(self, settings: Settings) -> TeamCache | None:
        """Return the team's cache of vectors; None where none is set. Equal settings have one, which knows whether it answers."""
        if not settings.team.used:
            return None
        from carrel.composition.team import TEAM_LEDGER, make_team_cache

        ledger = cache_root(settings)[0].parent / TEAM_LEDGER
        named = (settings.team, settings.http_proxy, ledger)
        if self._team is None or self._team[0] != named:
            self._team = (named, self._used(make_team_cache(settings.team, self.outbound.of(settings), ledger)))
        return self._team[1]

    def reranker(self, settings: Settings) -> Reranker | None:
        """Return the reranker that is set, if one is. Raises `InvalidInput`, `ProviderError` without a chat model to judge."""
        chosen = settings.models.reranker
        if chosen.provider == JUDGE:
            from carrel.assist.rerank import ChatModelReranker

            return ChatModelReranker(self.chat_model(settings, chosen.model or None))
        return self._used(rerankers().make(chosen, self.outbound.of(settings))) if chosen.provider else None

    def chat_model(self, settings: Settings, name: str | None = None) -> ChatModel:
        """Return the chat model that is set, or its provider's model of this name. Raises `ProviderError` where none is set."""
        chosen = settings.models.chat
        if not chosen.provider:
            raise ProviderError(*NO_CHAT_MODEL)
        return self._chat_model(msgspec.structs.replace(chosen, model=name) if name else chosen, settings)

    def planner_model(self, settings: Settings) -> ChatModel | None:
        """Return the model that plans searches: the one that is set for it. Raises `InvalidInput`."""
        chosen = settings.models.planner
        return self._chat_model(chosen, settings) if chosen.provider else None

    def _chat_model(self, chosen: ModelSettings, settings: Settings) -> ChatModel:
        return self._used(chat_models().make(chosen, self.outbound.of(settings)))

    def _used(self, model: M) -> M:
        self._in_use.add(model)
        return model

    def end(self, call: asyncio.Future[Any]) -> None:
        """Cancel a call that came too late. Its server takes seconds to end, which only `close` waits for."""

        def ended(done: asyncio.Future[Any]) -> None:
            self._ending.discard(done)
            if not done.cancelled():
                done.exception()  # nobody waits for it

        call.cancel()
        self._ending.add(call)
        call.add_done_callback(ended)

    async def close(self) -> None:
        """Close the connections and end the programs that models and tools have for the running event loop.

        They can be asked again.
        """
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=ENDING_SECONDS)
        if self._tools is not None:
            await self._tools.servers.close()
        closing = [model.aclose() for model in tuple(self._in_use) if hasattr(model, "aclose")]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.gather(*closing, return_exceptions=True)

    def tools(self, settings: Settings, own_tools: Sequence[Tool] = (), *, confirm: Confirm | None = None) -> ToolService:
        """Return the tools of the person's sources and of a workspace. Without `confirm` no person can be asked."""
        from carrel.composition.tools import tool_catalogue, tool_index
        from carrel.extensions.tools.tool_service import ToolService
        from carrel.question.question_secrets import mask_by

        self.outbound.use(settings)
        if self._tools is None:
            self._tools = tool_catalogue(self.outbound.current, tool_index)
        mask = mask_by(opening.secret_options(settings))
        return ToolService(self._tools, settings.tools, bundled(), confirm, own_tools, self.audit, settings.allow, mask)

    def new_token(self) -> CancelToken:
        """Make a token of the core."""
        from carrel.model.native import CancelToken

        return CancelToken()

    def warm_up(self, settings: Settings) -> None:
        """Load what the first question needs and what takes long to load: search, and the tokenizer's table."""
        from carrel.assist import assisted_retrieval  # noqa: F401
        from carrel.pack import context  # noqa: F401
        from carrel.search import explain  # noqa: F401

        self.tokenizer(settings, None).count("warm")

    def index_exists(self, root: Path, settings: Settings) -> bool:
        """Tell whether an index was made before."""
        directory = self.index_folder(root, settings)
        return directory.is_dir() and any(entry.name != ".gitignore" for entry in directory.iterdir())

    def index_folder(self, root: Path, settings: Settings) -> Path:
        """Return where the index lives, or will."""
        return locate(root, settings).directory

    def needs_reopening(self, old: Settings, new: Settings) -> bool:
        """Tell whether the index must be opened anew to take these settings."""
        if old.models.embedder != new.models.embedder:
            return True
        if new.models.embedder.provider and (old.http_proxy, old.team) != (new.http_proxy, new.team):
            return True
        return any(getattr(old, key) != getattr(new, key) for key in OF_THE_INDEX)

    def open_index(self, root: Path, settings: Settings, *, windows: opening.LineWindows | None = None) -> OpenIndex:
        """Open or create the index of `root`. Raises `StoreError`.

        One that is cut by `windows` of lines is another index, unless the settings ask for the same.

        One whose folder can't be written is read if it is whole; else one is made that goes with this process.

        Where a remote model is set, its index is opened if it is whole. Else the bundled model answers, and `wanted` names the
        other; `open_model_index` is for who fills that.
        """
        from carrel.model.local_index import is_of_core

        model, problem = self._set_model(settings)
        place = self._place(root, settings, windows)
        if is_of_core(model):
            index = self._open(place, model)
            index.unusable = problem
            return index
        folder = opening.folder_of(place.location.directory, model.spec.id)
        if self._embedder is not None:
            return self._open(place, model, folder)
        if isinstance(model, RemoteEmbedder) and folder.exists:
            try:
                whole = self._open(place, model.with_dim(folder.dim), folder, kept_only=True)
            except StoreError as error:
                problem = str(error)
            else:
                if whole and whole.complete:
                    return whole
                if whole:
                    whole.store.close()
        index = self._open(place, bundled())
        index.want(model.spec.id)
        index.unusable = problem
        return index

    def open_model_index(self, root: Path, settings: Settings, model: RemoteEmbedder) -> OpenIndex:
        """Open or create the index of a remote model, to fill it beside the one that answers. Raises `StoreError`."""
        place = self._place(root, settings, None)
        index = self._open(place, model, opening.folder_of(place.location.directory, model.spec.id), kept_only=True)
        if index is None or index.not_kept:
            where = place.location.directory
            if index:
                index.store.close()
            raise StoreError(
                f"{where} can't be written, so no vectors can be kept there", "Free some disk space, or make the folder writable."
            )
        return index

    def known_dim(self, root: Path, settings: Settings, model: RemoteEmbedder) -> int:
        """Return the dimension of a model: its own, or what was learned before; 0 where nobody knows it."""
        return model.spec.dim or opening.folder_of(locate(root, settings).directory, model.spec.id).dim

    def discard_index(self, root: Path, settings: Settings) -> int:
        """Delete an index of a newer Carrel; return its bytes. Raises `StoreError`."""
        home = self.index_folder(root, settings)
        return sum(discard(directory) for directory in (home, *opening.others(home)) if (directory / INDEX_FILE).exists())

    def clear_others(self, root: Path, settings: Settings, index: OpenIndex) -> None:
        """Delete what other models than that of `index` have of the workspace. Raises `StoreError`."""
        from carrel.model.native import Store

        place = self._place(root, settings, None)
        home, used = place.location.directory, index.directory
        for directory in (*([home] if used != home else []), *opening.others(home, used)):
            if not (directory / INDEX_FILE).exists():
                continue
            try:
                store = Store.open(
                    str(directory), str(root), embedder_id="", dim=0, walk=opening.walk_options(settings), cut=place.cut
                )
            except NewerFormat:
                discard(directory)
                continue
            try:
                if store.role == "writer":
                    store.clear()
            finally:
                store.close()

    def _set_model(self, settings: Settings) -> tuple[Embedder, str | None]:
        """Return the model that is set, or the bundled one and why that can't be used."""
        try:
            return self.embedder(settings), None
        except InvalidInput as error:
            return bundled(), f"The embedding model that is set can't be used, so the bundled one answers: {error}"

    def _place(self, root: Path, settings: Settings, windows: opening.LineWindows | None) -> opening.IndexPlace:
        location = locate(root, settings)
        if windows and windows != opening.line_windows(settings):
            name = f"{location.directory.name}-lines-{windows[0]}-{windows[1]}"
            location = replace(location, directory=location.directory.with_name(name))
        refused: OSError | None = None
        try:
            prepare(location, root)
        except OSError as error:
            refused = error
        return opening.IndexPlace(root, settings, location, opening.cut_options(settings, windows), refused)

    @overload
    def _open(self, place: opening.IndexPlace, model: Embedder, folder: opening.ModelFolder | None = None) -> OpenIndex: ...
    @overload
    def _open(
        self, place: opening.IndexPlace, model: Embedder, folder: opening.ModelFolder, *, kept_only: Literal[True]
    ) -> OpenIndex | None: ...
    def _open(
        self, place: opening.IndexPlace, model: Embedder, folder: opening.ModelFolder | None = None, *, kept_only: bool = False
    ) -> OpenIndex | None:
        """Open an index, in its model's own folder if it has one; None where it can't be kept and `kept_only` is asked."""
        from carrel.providers.tokenizers import ExactTokenizer

        home = place.location.directory
        if folder:
            place = replace(place, location=replace(place.location, directory=folder.directory))
            try:
                folder.prepare(model.spec.dim)
            except OSError as error:
                place = replace(place, refused=place.refused or error)
        index = opening.open_kept(place, model)
        if index is None and kept_only:
            return None
        index = index or opening.open_temporary(place, model)
        index.home = home
        index.counter = ExactTokenizer()
        index.read_meta()
        self._clean_up(replace(place.location, directory=home))
        for gone in opening.clean_up(home, index.directory):
            log.info("Deleted the index of a model that nobody used for 30 days: %s", gone.name)
        return index

    def access_rules(self, root: Path, settings: Settings, directory: Path) -> Store:
        """Open an empty index that only knows which files of `root` may be read. Raises `StoreError`."""
        from carrel.model.native import CutOptions, Store

        directory.mkdir(parents=True, exist_ok=True)
        walk = opening.walk_options(dataclasses.replace(settings, editor_exclude=()))
        return Store.open(str(directory), str(root), embedder_id="", dim=0, walk=walk, cut=CutOptions())

    def attach_replica(self, index: OpenIndex, settings: Settings) -> None:
        """Give an index the copy of its vectors that the settings ask for, unless it has one.

        One that another model's index takes the place of, or that goes with this process, has none. Only opens a file here.
        """
        if index.replica is not None or index.wanted or index.not_kept or not index.embedder.spec.dim:
            return
        if settings.store.kind == "segments":
            return  # the usual case imports nothing
        from carrel.composition.stores import IndexFolder, make_replica

        folder = IndexFolder(index.root, index.directory, index.home or index.directory, index.embedder.spec.dim)
        try:
            index.replica = make_replica(settings.store, folder, index.store, self.outbound.of(settings))
        except StoreError as error:
            index.no_replica = str(error)

    def memory_index(self, *, windows: opening.LineWindows | None = None) -> OpenIndex:
        """Open an empty index that touches no disk, for texts that a caller has."""
        from carrel.model.native import Store, WalkOptions
        from carrel.settings.settings import Settings

        cut, embedder = opening.cut_options(Settings(), windows), self.embedder(Settings())
        spec = embedder.spec
        store = Store.open("", "", embedder_id=spec.id, dim=spec.dim, walk=WalkOptions(), cut=cut, in_memory=True)
        return OpenIndex(Path(), store, embedder, Path())

    def tokenizer(self, settings: Settings, model: str | None, *, chars_per_token: float | None = None) -> Tokenizer:
        """Return the tokenizer of a chat model, an estimate where a ratio is given, or the one that is set."""
        from carrel.providers.tokenizers import ExactTokenizer, tokenizer_for

        if model or chars_per_token is not None:
            return tokenizer_for(model, approx_chars_per_token=chars_per_token)
        return ExactTokenizer(settings.tokenizer)

    def assistants(
        self,
        settings: Settings,
        *,
        plan: Planning | None = None,
        rerank: bool | None = None,
        chat: bool = False,
        lent: ChatModel | None = None,
    ) -> Assistants:
        """Return the models that help with a question: as `plan` and `rerank` say, None as the settings say.

        For a question to a `chat`, where no model is set for planning, the chat model that is `lent` or set is asked once where
        the search is unsure; searches that follow what is typed ask none. A model that can't be made costs its help, not the
        answer.
        """
        from carrel.assist.assisted_retrieval import ALONE, Assistants

        chosen = settings.planner if plan is None else plan
        plans = chosen != "never"
        reranks = settings.rerank if rerank is None else rerank
        if not plans and not reranks:
            return ALONE
        problems: list[str] = []

        def made(model: Callable[[Settings], M | None]) -> M | None:
            try:
                return model(settings)
            except CarrelError as error:
                problems.append(str(error))
                return None

        planner = made(self.planner_model) if plans else None
        when: When = "always" if chosen == "always" else "auto" if planner or problems else "unsure"
        if chat and plans and planner is None and not problems:
            planner = lent or (made(self.chat_model) if settings.models.chat.provider else None)
        return Assistants(
            planner,
            made(self.reranker) if reranks else None,
            when,
            settings.planner_seconds,
            settings.reranker_seconds,
            problem=" ".join(problems) or None,
            mask=opening.question_mask(settings),
        )

    def _clean_up(self, location: IndexLocation) -> None:
        if not location.in_workspace:
            for gone in clean_up(location.directory.parent):
                log.info("Deleted an index whose folder is gone for 30 days: %s", gone.name)

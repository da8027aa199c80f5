"""Options, as somebody sent them, to `Settings`, resolved and complete.

The valid part of what was sent counts, the rest is reported, nothing refuses to start. Sources, weakest first: the
defaults, the user's settings file, the editor. A `.carrel.toml` in a workspace comes last and may only narrow: whoever
clones a repository must not have things switched on by it. It may also say how its files are cut, which gives nothing away.
`docs/settings.md` is generated from `Settings`.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from carrel.model.bounds import MOST, plain_reason
from carrel.model.errors import InvalidInput
from carrel.model.types import Budget
from carrel.settings.allow_settings import AllowSettings, AuditSettings
from carrel.settings.model_settings import BudgetPolicy, LimitSettings, Models, read_models
from carrel.settings.setting_checks import decode_object, read_editor_languages, read_languages
from carrel.settings.source_settings import Sources, read_sources
from carrel.settings.store_settings import StoreSettings, TeamSettings, read_store, read_team
from carrel.settings.tool_settings import ToolSettings, read_tools

Options: TypeAlias = Mapping[str, Any]
"""Settings as sent: camelCase keys, every one optional."""

LogLevel = Literal["error", "warning", "info", "debug"]
Watching = Literal["auto", "always", "never"]
Planning = Literal["never", "auto", "always"]
Narrowing = Literal["never", "union", "off", "lower", "own", "any"]


def _setting(default: Any, doc: str, *, workspace: Narrowing = "never", outward: bool = False, place: bool = False) -> Any:
    """Make a field.

    `outward` says that it decides what leaves the machine and where to, or what is recorded of that; `place` that it decides
    where on the machine something is written.
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "workspace": workspace, "outward": outward, "place": place})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set, with its default. Types carry the limits."""

    # ruff: noqa: RUF009 - `_setting` makes a field
    rag_enabled: bool = _setting(
        False,
        "Put context before chat turns. Explicit questions (a command, a tool call, the CLI) work without it.",
        workspace="off",
    )
    rag_top_k: Annotated[int, Meta(ge=1, le=20)] = _setting(
        5,
        "How many hits a chat context holds at most. While it is the default, it grows with the budget: one for each 300 tokens.",
        workspace="lower",
    )
    rag_auto_index: bool = _setting(False, "Index a workspace when it opens.", workspace="off")
    budget: Budget = _setting(
        Budget(),
        'How long a chat context may get: `{"chars": 4000}` or `{"tokens": 1000}`. While it is the default, it grows with the '
        "chat model's window where that is known: see `budgetShare`.",
    )
    budget_share: Annotated[float, Meta(ge=0, le=0.5)] = _setting(
        0.125, "The share of the chat model's window that a context may take where `budget` is the default; 0 for never more."
    )
    budget_ceiling: Annotated[int, Meta(ge=1_000, le=200_000)] = _setting(
        8_000, "How many tokens a context may get by `budgetShare` at most."
    )
    prompt_tokens: Annotated[int, Meta(ge=100, le=20_000)] = _setting(
        1_500,
        "How many tokens go beside a prompt of an agent in a terminal at most.",
        workspace="lower",
    )
    exclude: tuple[str, ...] = _setting((), "Globs of files to leave out, written as in .gitignore.", workspace="union")
    excluded_folders: tuple[str, ...] = _setting(
        (),
        "Names of folders to leave out, beside the usual ones (node_modules, untracked build, untracked hidden ones …); "
        "`!build` takes one in again.",
        workspace="union",
    )
    editor_exclude: tuple[str, ...] = _setting(
        (), "What the editor itself leaves out. Editors' plugins send it; `exclude` comes after it."
    )
    secret_patterns: tuple[str, ...] = _setting(
        (),
        "Regular expressions of secrets to mask beside those that Carrel knows: group 1, or the whole match.",
        workspace="union",
    )
    secret_allow_paths: tuple[str, ...] = _setting(
        (),
        'Globs of paths in which nothing is masked, such as "tests/fixtures/**". What is secret by its name stays left out. '
        "Only in your own settings file.",
        workspace="own",
    )
    secret_allow_rules: tuple[str, ...] = _setting(
        (), "Rules that mask nothing, by the names that `carrel secrets` shows. Only in your own settings file.", workspace="own"
    )
    max_file_bytes: Annotated[int, Meta(ge=1_000, le=50_000_000)] = _setting(
        500_000, "Larger files are left out.", workspace="lower"
    )
    languages: tuple[tuple[str, str], ...] = _setting(
        (),
        'Languages by globs (`{"*.inc": "php"}`), else by name, content, or what an editor opens it as.',
        workspace="any",
    )
    editor_languages: tuple[tuple[str, str], ...] = _setting(
        (), "Languages that the editor gives to globs. Editors' plugins send it; `languages` comes after it."
    )
    chunking: Literal["syntax", "lines"] = _setting(
        "syntax",
        'How files are cut into chunks: `"syntax"` follows functions, classes and headings, and cuts a file that shows none '
        'every 60 lines, of which 5 are shared; `"lines"` cuts every file by its lines.',
        workspace="any",
    )
    chunk_lines: Annotated[int, Meta(ge=10, le=1_000)] = _setting(
        50, 'Lines of a chunk where `chunking` is `"lines"`.', workspace="any"
    )
    chunk_overlap: Annotated[int, Meta(ge=0, le=500)] = _setting(
        5,
        "Lines that a chunk shares with the one before; at most half of `chunkLines`.",
        workspace="any",
    )
    class_lines: Annotated[int, Meta(ge=1, le=1_000)] = _setting(
        30,
        "A class of fewer lines is one chunk, a longer one its header and each method.",
        workspace="any",
    )
    storage: Literal["cache", "workspace"] = _setting(
        "cache", "Where indexes live: the user's cache folder, or `.carrel/` in the workspace.", place=True
    )
    cache_folder: str = _setting("", "A folder for indexes in place of the user's cache folder (absolute path).", place=True)
    tokenizer: Literal["o200k_base", "cl100k_base"] = _setting(
        "cl100k_base", "How tokens are counted when the chat model isn't known."
    )
    models: Models = _setting(
        Models(),
        "Models beside the bundled one, by role (`embedder`, `reranker`, `chat`, `planner`): docs/models.md has examples. Text "
        "goes to a remote one only after you allowed its provider.",
        outward=True,
    )
    store: StoreSettings = _setting(
        StoreSettings(),
        'Where vectors are kept and searched besides the index itself: `{"kind": "qdrant"}`; docs/stores.md has an example of '
        "each. They go to another machine only after you allowed it.",
        outward=True,
    )
    team: TeamSettings = _setting(
        TeamSettings(),
        "Where a team keeps the vectors that one of them has paid for, so that nobody pays twice: docs/team.md. Sealed vectors "
        "go to another machine only after you allowed it. Only in your own settings file.",
        workspace="own",
    )
    limits: LimitSettings = _setting(
        LimitSettings(),
        "How much may be asked of each remote service: `requestsPerMinute`, `tokensPerMinute`, `costPerDay`.",
        outward=True,
    )
    audit: AuditSettings = _setting(
        AuditSettings(),
        "What is recorded of what was given to whom, and for how long: `enabled`, `days`, `megabytes`, `texts` (docs/audit.md). "
        "`texts` keeps questions, arguments and results themselves, not only their hashes and sizes.",
        outward=True,
    )
    http_proxy: str = _setting(
        "",
        "URL of an HTTP proxy for remote services; without one the environment's `HTTPS_PROXY` and `NO_PROXY` count.",
        outward=True,
    )
    allow_providers: tuple[str, ...] = _setting(
        (),
        'Where text may go without being asked, such as `"openai api.openai.com"`: a provider and a host. For CI and machines '
        "without a terminal. Only in your own settings file.",
        workspace="own",
    )
    sources: Sources = _setting(
        Sources(),
        'What is searched beside the workspace, such as `{runbooks = {folder = "~/ops/runbooks"}, history = {kind = "git"}}`; '
        "docs/knowledge.md has more. Only in your own settings file.",
        workspace="own",
    )
    planner: Planning = _setting(
        "auto",
        'Whether a chat model says a question in the words of the code, shown a map of the project: `"auto"` where the search is '
        "unsure; a model that `models` names for planning also rewrites follow-ups and divides questions about several things. "
        "The user's words are always searched for, too.",
    )
    planner_seconds: Annotated[float, Meta(ge=0.1, le=60)] = _setting(
        1.5, "How long each call of the planner may take; a request's deadline may shorten it."
    )
    rerank: bool = _setting(
        True, "Have the reranker that `models` names judge the best 100 candidates of a question.", workspace="off"
    )
    reranker_seconds: Annotated[float, Meta(ge=0.1, le=60)] = _setting(
        5.0, "How long the reranker may take; the order of the search stands then, and a request's deadline may shorten it."
    )
    tools: ToolSettings = _setting(
        ToolSettings(),
        "Sources of tools, by name: MCP servers (`servers`), files (`files`); what pipelines may "
        "use (`allow`), and risks of tools (`risk`): docs/tools.md has examples. Only in your own settings file: it names "
        "programs that are started.",
        workspace="own",
    )
    allow: AllowSettings = _setting(
        AllowSettings(),
        'Who may do what, by the way that a request comes in, such as `{"mcp": ["search"], "proxy": ["search", "sources"]}`: '
        "`search` the workspace, read `sources` beside it, be told of `tools` and run safe ones, `run` moderate ones "
        "(docs/security.md). Only in your own settings file.",
        workspace="own",
    )
    watch: Watching = _setting(
        "auto",
        'Whether Carrel watches the folder for changes on disk by itself: `"auto"` where the editor doesn\'t report them and the '
        'disk is a local one, `"always"` also beside the editor, `"never"`. Without it, each question looks for changes.',
    )
    log_level: LogLevel = _setting(
        "info", "How much is logged, on stderr and to the editor. Never the content of files or questions."
    )

    @property
    def budget_policy(self) -> BudgetPolicy:
        """How long contexts get, by the model's window."""
        return BudgetPolicy(self.budget, self.budget_share, self.budget_ceiling)

    def places(self, budget: Budget) -> int:
        """Return how many places a context of this budget may hold, unless a caller says so itself."""
        if self.rag_top_k != _FIELDS["rag_top_k"].default:
            return self.rag_top_k
        tokens = budget.amount if budget.unit == "tokens" else budget.amount // CHARACTERS_A_TOKEN
        return min(max(self.rag_top_k, tokens // TOKENS_A_PLACE), MOST_PLACES)


class Problem(Struct, frozen=True):
    """A setting that can't be used as it was given. `source` says where it stands; without a key it is the whole file."""

    source: str
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.key, self.message) if part)


class Layer(Struct, frozen=True):
    """Options from one place. `workspace` ones may only narrow; unknown keys are reported where a person typed them.

    `perhaps_project` are those of an editor that may have taken them from files of the project: what decides where text goes
    counts only as the person's own file has it.
    """

    source: str
    options: Options
    workspace: bool = False
    report_unknown: bool = False
    perhaps_project: bool = False
    personal: bool = False
    """Whether it is the file of the person, which nothing that comes with a project can write."""


_HINTS: dict[str, Any] = get_type_hints(Settings, include_extras=True)
TOKENS_A_PLACE, CHARACTERS_A_TOKEN, MOST_PLACES = 300, 4, 50
"""A context of the default `ragTopK` holds a place for so many tokens, of so many characters, up to so many."""
_FIELDS = {field.name: field for field in dataclasses.fields(Settings)}


def wire_name(name: str) -> str:
    """snake_case to the camelCase of settings files and editors."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


_PATTERNS = {
    "exclude": "{}",
    "excluded_folders": "**/{}/",
    "editor_exclude": "{}",
    "secret_patterns": "",
    "secret_allow_paths": "",
}
"""Settings whose items are patterns, and the glob that each item stands for; those of secrets stand for themselves."""

_OWN_FILE = "settings.toml in Carrel's folder of your configuration"

KEYS = {wire_name(name): name for name in _FIELDS}


def resolve(*layers: Layer) -> tuple[Settings, tuple[Problem, ...]]:
    """Lay the layers over the defaults, later ones over earlier ones."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[Problem] = []
    for layer in layers:
        for key, raw in layer.options.items():
            name = KEYS.get(key)
            if name is None:
                if layer.report_unknown:
                    problems.append(Problem(layer.source, key, "there is no such setting"))
                continue
            if raw is None:
                continue
            try:
                value = _convert(name, raw)
            except ValueError as error:
                problems.append(Problem(layer.source, key, str(error)))
                continue
            value, unusable = _usable_part(layer, name, value)
            problems += [Problem(layer.source, key, why) for why in unusable]
            if why := _only_in_own_file(layer, name):
                if value not in (values.get(name, _FIELDS[name].default), _FIELDS[name].default):
                    problems.append(Problem(layer.source, key, why))
                continue
            if layer.workspace:
                before = values.get(name, _FIELDS[name].default)
                value, refusal = _narrow(_FIELDS[name].metadata["workspace"], before, value)
                if refusal:
                    problems.append(Problem(layer.source, key, refusal))
            values[name], sources[name] = value, layer.source
    if "chunk_overlap" in values and (reason := _refused_overlap(Settings(**values))):
        del values["chunk_overlap"]
        problems.append(Problem(sources["chunk_overlap"], "chunkOverlap", reason))
    return Settings(**values), tuple(problems)


def _only_in_own_file(layer: Layer, name: str) -> str:
    """Say why a setting doesn't count where a layer has it; empty where it may."""
    metadata = _FIELDS[name].metadata
    if metadata["workspace"] == "own" and not layer.personal:
        return f"counts only in your own settings file ({_OWN_FILE})"
    if metadata["outward"] and layer.perhaps_project:
        return f"counts only in your own settings file ({_OWN_FILE}): this editor may have taken it from the project"
    return ""


def _usable_part(layer: Layer, name: str, value: Any) -> tuple[Any, list[str]]:
    """Return what of a value may count, and why the rest doesn't."""
    if name == "store" and value.program and not layer.personal:  # some editors let a project set what they send
        without = msgspec.structs.replace(value, program="")
        return without, [f"`program` counts only in your own settings file ({_OWN_FILE})"]
    return _usable(name, value) if name in _PATTERNS else (value, [])


def _refused_overlap(settings: Settings) -> str | None:
    """Say why chunks can't share so many lines; None if they can. More than half would multiply the index."""
    overlap, lines = settings.chunk_overlap, settings.chunk_lines
    return f"must be at most half of `chunkLines`, which is {lines}, not {overlap}" if 2 * overlap > lines else None


def _convert(name: str, raw: Any) -> Any:
    if name in _READERS:
        return _READERS[name](raw)
    try:
        value = msgspec.convert(raw, _HINTS[name])
    except msgspec.ValidationError as error:
        expected = _expected(_HINTS[name])
        if expected:
            raise ValueError(f"must be {expected}, not {reprlib.repr(raw)}") from None
        where, reason = plain_reason(error)
        raise ValueError(f"{where} {reason}".lstrip()) from None
    if name == "cache_folder" and value and not Path(value).expanduser().is_absolute():
        raise ValueError("must be an absolute path")
    if name == "http_proxy" and value and not value.startswith(("http://", "https://")):
        raise ValueError("must be a URL that begins with http:// or https://")
    return value


def _expected(hint: Any) -> str | None:
    """Describe the values of a type with few, in words; None for another type."""
    if get_origin(hint) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    limits = [item for item in get_args(hint) if isinstance(item, Meta)]
    kind = "a number" if get_args(hint)[:1] == (float,) else "a whole number"
    return f"{kind} from {limits[0].ge:,} to {limits[0].le:,}" if limits else None


def _usable(name: str, items: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """Return the items that are patterns, and why the others leave out nothing: who wrote them believes that they do."""
    if not items:
        return items, []
    from carrel.model.native import Filter, SecretOptions  # noqa: PLC0415 - most settings need no core

    usable, problems = [], []
    for item in items:
        try:
            if name == "secret_patterns":
                SecretOptions(patterns=[item])
            elif name == "secret_allow_paths":
                SecretOptions(allow_paths=[item])
            else:
                Filter(exclude_globs=[_PATTERNS[name].format(item.removeprefix("!"))])
            usable.append(item)
        except InvalidInput as error:
            effect = "counts for nothing" if name.startswith("secret_") else "leaves out nothing"
            problems.append(f"{item!r} {effect}, for it {error.reason}")
    return tuple(usable), problems


def _budget(raw: Any) -> Budget:
    if isinstance(raw, dict) and len(raw) == 1:
        ((unit, amount),) = raw.items()
        if unit in ("chars", "tokens") and type(amount) is int and 0 < amount <= MOST:
            return Budget(amount, unit)
    raise ValueError('must be {"chars": n} or {"tokens": n} with n from 1 to a billion')


_READERS: dict[str, Callable[[Any], Any]] = {
    "budget": _budget,
    "languages": read_languages,
    "editor_languages": read_editor_languages,
    "models": read_models,
    "limits": partial(decode_object, kind=LimitSettings),
    "store": read_store,
    "team": read_team,
    "allow": partial(decode_object, kind=AllowSettings),
    "audit": partial(decode_object, kind=AuditSettings),
    "sources": read_sources,
    "tools": read_tools,
}
"""How settings are read that are objects."""


def _narrow(rule: Narrowing, before: Any, value: Any) -> tuple[Any, str | None]:
    """Return what a workspace's own file may make of a value; the second value says why it may not."""
    if rule == "union":
        if any(str(item).startswith("!") for item in value):
            return before, "a workspace may leave out more, not less: no `!` here"
        return (*before, *(item for item in value if item not in before)), None
    if rule == "off":
        return (before, "a workspace may switch this off, not on") if value else (False, None)
    if rule == "any":
        return value, None
    if rule == "lower":
        return (before, None) if value > before else (value, None)
    return before, "can't be set by a workspace; put it in your own settings"

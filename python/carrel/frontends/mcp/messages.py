"""What travels in MCP tool calls: the arguments of each tool and its structured result.

Argument structs are flat, so that every assistant's schema dialect can hold them; names are those of `carrel/*` requests.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from carrel.agent import knowledge_form, search_tool
from carrel.agent.search_tool import Name, Names, Question
from carrel.agent.tools import catalogue_tools
from carrel.frontends.common.wire import DroppedResult, State, Wire

Folder = Annotated[
    str,
    Meta(max_length=4_096, description="Which workspace folder, by its name or path; the first one by default."),
]
SearchedFolder = Annotated[
    str,
    Meta(
        max_length=4_096,
        description="Which workspace folder, by its name or path; all by default. Of several, paths begin with its name.",
    ),
]
FolderOfAnswer = Annotated[
    str, Meta(description="The folder that was searched; empty where several were: each place has its own.")
]


History = Annotated[
    tuple[Annotated[str, Meta(max_length=search_tool.MAX_TEXT)], ...],
    Meta(
        max_length=50,
        description='Earlier messages of the conversation, oldest first, for a query such as "and how is that tested?".',
    ),
]


class StatusArguments(Wire, kw_only=True, frozen=True):
    """`index_status`."""

    folder: Folder = ""


class SearchArguments(search_tool.SearchArguments, kw_only=True, frozen=True):
    """`search_code`."""

    history: History = ()
    assess: Annotated[bool, Meta(description="Have the user's chat model judge 10 hits and search on.")] = False
    folder: SearchedFolder = ""


class KnowledgeArguments(knowledge_form.KnowledgeArguments, kw_only=True, frozen=True):
    """`search_knowledge_base`."""

    folder: SearchedFolder = ""


class ContextArguments(Wire, kw_only=True, frozen=True):
    """`get_context`."""

    query: Question
    history: History = ()
    max_tokens: Annotated[int, Meta(ge=50, le=200_000, description="The whole text is never longer than this.")] = 4_000
    top_k: Annotated[int, Meta(ge=1, le=50, description="How many places at most.")] = 10
    files: Annotated[Names, Meta(description="Files that matter for the question: their best parts come first.")] = ()
    exclude: Annotated[Names, Meta(description="Globs of paths to leave out.")] = ()
    model: Annotated[Name, Meta(description="The chat model, which decides how tokens are counted.")] = ""
    format: Annotated[
        Literal["xml", "source", "tool", "places"],
        Meta(description='The form of the text; "places" gives paths, lines and symbols alone.'),
    ] = "xml"
    folder: SearchedFolder = ""


class FindToolsArguments(catalogue_tools.FindToolsArguments, kw_only=True, frozen=True):
    """`search_tools`."""

    folder: Folder = ""


class ExecuteArguments(catalogue_tools.ExecuteArguments, kw_only=True, frozen=True):
    """`execute_pipeline`."""

    folder: Folder = ""


Confidence = Annotated[float | UnsetType, Meta(description="How sure it is that there is anything relevant at all, from 0 to 1.")]


class Place(Wire, kw_only=True, frozen=True):
    """A run of lines that answers, with its text as it stands on disk at this moment."""

    uri: Annotated[str, Meta(description="The resource that holds these lines.")]
    path: Annotated[
        str, Meta(description="Relative to the folder. In an answer of several folders it begins with the folder's name.")
    ]
    folder: Annotated[str | UnsetType, Meta(description="The name of its folder, in an answer of several.")] = UNSET
    start_line: Annotated[int, Meta(description="1-based, inclusive.")]
    end_line: Annotated[int, Meta(description="1-based, inclusive.")]
    score: Annotated[float, Meta(description="0 to 1, comparable across questions.")]
    source: Annotated[str | UnsetType, Meta(description="Which source it is from, where that isn't the workspace.")] = UNSET
    note: Annotated[
        str | UnsetType, Meta(description="What must be known of the document: its version and date, that it is outdated.")
    ] = UNSET
    symbol: str | UnsetType = UNSET
    kind: str
    language: str
    masked: Annotated[int, Meta(description="How many secrets in it were masked: each stands as `[secret: KIND]`.")] = 0
    text: Annotated[str | UnsetType, Meta(description="Unset where the result's own text holds it.")] = UNSET


class SearchedResult(Wire, kw_only=True, frozen=True):
    """Hold what every answer says of the search behind it."""

    folder: FolderOfAnswer
    confidence: Confidence = UNSET
    state: State
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    missing_folders: Annotated[
        dict[str, str] | UnsetType, Meta(description="Folders that were not searched, each with the reason; the others answer.")
    ] = UNSET


class HitsResult(SearchedResult, kw_only=True, frozen=True):
    """`search_code` and `search_knowledge_base`: hits, best first."""

    hits: tuple[Place, ...]


class ToolsResult(Wire, kw_only=True, frozen=True):
    """`search_tools`: the tools that fit, best first, as a model is told of them."""

    tools: tuple[dict[str, Any], ...]


class ExecuteResult(Wire, kw_only=True, frozen=True):
    """`execute_pipeline`: the last output."""

    output: str


class ContextResult(SearchedResult, kw_only=True, frozen=True):
    """`get_context`: the text, and where each part of it is from."""

    text: str
    tokens: int
    max_tokens: int
    tokenizer: str
    places: tuple[Place, ...]
    dropped: Annotated[tuple[DroppedResult, ...], Meta(description="What was left out, and why.")]


class FolderStatus(Wire, kw_only=True, frozen=True):
    """The index of one workspace folder."""

    folder: Annotated[str, Meta(description="The name that `folder` arguments take.")]
    path: str
    state: State
    role: Annotated[
        Literal["writer", "follower", "closed"],
        Meta(description="Whether this server writes the index, follows another Carrel, or hasn't opened it."),
    ]
    files: int
    chunks: int
    languages: Annotated[dict[str, int], Meta(description="Files by language.")]
    pending: Annotated[int, Meta(description="Files that wait for indexing.")]
    complete: Annotated[bool, Meta(description="Whether all files are in it: `ready` says that it answers, if only by a part.")]
    unfinished: Annotated[int, Meta(description="Files that a run has still to do, or left when it was stopped.")]
    skipped: Annotated[dict[str, int], Meta(description="Files that were left out, by reason.")]
    last_indexed: Annotated[str | UnsetType, Meta(description="ISO 8601, UTC.")] = UNSET
    problems: Annotated[tuple[str, ...], Meta(description="What a person may want to mend, in words.")] = ()
    error: str | UnsetType = UNSET


class StatusResult(Wire, kw_only=True, frozen=True):
    """`index_status`: every open folder, or the one that was asked for."""

    folders: tuple[FolderStatus, ...]

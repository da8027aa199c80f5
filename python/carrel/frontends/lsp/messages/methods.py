"""The table of methods and their messages, for handlers, protocol docs and the editors' types, and the answer to
`initialize` that announces them. It needs no server, so that answer is given before the server proper is even imported.
"""

from __future__ import annotations

from typing import Any

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages import chat_messages as chat
from carrel.frontends.lsp.messages import index_messages as index
from carrel.frontends.lsp.messages import question_messages as wire
from carrel.frontends.lsp.messages import setup_messages as setup

REQUESTS: dict[str, tuple[type[wire.FolderParams], Any]] = {
    "carrel/status": (index.StatusParams, index.StatusResult),
    "carrel/index": (index.IndexParams, index.IndexResult),
    "carrel/search": (wire.SearchParams, wire.SearchResult),
    "carrel/context": (wire.ContextParams, wire.ContextResult),
    "carrel/augment": (wire.AugmentParams, wire.AugmentResult),
    "carrel/chat": (chat.ChatParams, chat.ChatResult),
    "carrel/review": (chat.ReviewParams, chat.ReviewResult),
    "carrel/explain": (wire.ExplainParams, dict[str, Any]),
    "carrel/files": (wire.FilesParams, wire.FilesResult),
    "carrel/compare": (chat.CompareParams, chat.CompareResult),
    "carrel/citations": (chat.CitationsParams, chat.CitationsResult),
    "carrel/providers": (setup.ProvidersParams, setup.ProvidersResult),
    "carrel/sources": (setup.SourcesParams, setup.SourcesResult),
    "carrel/sources/add": (setup.SourcesAddParams, setup.SourceChanged),
    "carrel/sources/remove": (setup.SourcesRemoveParams, setup.SourceChanged),
    "carrel/key": (setup.KeyParams, setup.KeyResult),
    "carrel/audit": (index.AuditParams, index.AuditResult),
    "carrel/tools/search": (setup.ToolsSearchParams, setup.ToolsSearchResult),
    "carrel/tools/list": (setup.ToolsListParams, setup.ToolsListResult),
    "carrel/pipeline/validate": (setup.PipelineParams, setup.PipelineChecked),
    "carrel/pipeline/run": (setup.PipelineRunParams, setup.PipelineRunResult),
    "carrel/clear": (index.ClearParams, index.ClearResult),
}
"""Every request that an editor may send: its parameters and its result. Each is also a command, with a dot for the slash."""

PARTIAL_RESULTS: dict[str, type[Wire]] = {
    "carrel/chat": chat.ChatStep,
    "carrel/review": chat.ReviewStep,
    "carrel/pipeline/run": setup.PipelineStep,
}
"""What such a request reports by `$/progress` under its `partialResultToken`, before its result."""

CLIENT_REQUESTS: dict[str, tuple[type[Wire], Any]] = {
    "carrel/complete": (chat.CompleteParams, chat.CompleteResult),
    "carrel/confirm": (setup.ConfirmParams, setup.ConfirmResult),
}
"""What the server asks of a client that announces it in its capabilities, under `experimental.carrel`: `{"complete": true}`."""

NOTIFICATIONS: dict[str, type[Wire]] = {"carrel/statusChanged": index.StatusResult}
"""What the server sends by itself."""

PROTOCOL = 1
"""Raised when `carrel/*` changes in a way that older editors can't read."""


COMMANDS = {method.replace("/", "."): method for method in REQUESTS}
"""The methods by their names as commands: `carrel/search` is `carrel.search`."""


def own_settings(sent: object) -> dict[str, Any] | None:
    """Find Carrel's settings in what a client sent: a section of that name, or all of it; None if neither."""
    section = sent.get("carrel", sent) if isinstance(sent, dict) else None
    return section if isinstance(section, dict) else None


def initialize_result() -> dict[str, Any]:
    """Return what the server can do. UTF-16 positions: the one encoding that every client must support."""
    from carrel.model.installation import carrel_version  # noqa: PLC0415 - loads what commands don't need

    return {
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
            "executeCommandProvider": {"commands": list(COMMANDS), "workDoneProgress": True},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            "experimental": {
                "carrel": {
                    "protocol": PROTOCOL,
                    "requests": list(REQUESTS),
                    "notifications": list(NOTIFICATIONS),
                    "clientRequests": list(CLIENT_REQUESTS),
                }
            },
        },
        "serverInfo": {"name": "carrel", "version": carrel_version()},
    }

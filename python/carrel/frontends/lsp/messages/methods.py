"""Which method takes and gives what: the table behind handlers, capabilities, protocol docs and the editors' types."""

from __future__ import annotations

from typing import Any

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp.messages import audit_messages as audit
from carrel.frontends.lsp.messages import chat_messages as chat
from carrel.frontends.lsp.messages import compare_messages as compare
from carrel.frontends.lsp.messages import index_messages as index
from carrel.frontends.lsp.messages import model_messages as models
from carrel.frontends.lsp.messages import question_messages as wire
from carrel.frontends.lsp.messages import review_messages as talk
from carrel.frontends.lsp.messages import source_messages as sources
from carrel.frontends.lsp.messages import tool_messages as tools

REQUESTS: dict[str, tuple[type[wire.FolderParams], Any]] = {
    "carrel/status": (index.StatusParams, index.StatusResult),
    "carrel/index": (index.IndexParams, index.IndexResult),
    "carrel/search": (wire.SearchParams, wire.SearchResult),
    "carrel/context": (wire.ContextParams, wire.ContextResult),
    "carrel/augment": (wire.AugmentParams, wire.AugmentResult),
    "carrel/chat": (chat.ChatParams, chat.ChatResult),
    "carrel/review": (talk.ReviewParams, talk.ReviewResult),
    "carrel/explain": (wire.ExplainParams, dict[str, Any]),
    "carrel/similar": (wire.SimilarParams, wire.SearchResult),
    "carrel/files": (wire.FilesParams, wire.FilesResult),
    "carrel/compare": (compare.CompareParams, compare.CompareResult),
    "carrel/citations": (chat.CitationsParams, chat.CitationsResult),
    "carrel/providers": (models.ProvidersParams, models.ProvidersResult),
    "carrel/sources": (sources.SourcesParams, sources.SourcesResult),
    "carrel/sources/add": (sources.SourcesAddParams, sources.SourceChanged),
    "carrel/sources/remove": (sources.SourcesRemoveParams, sources.SourceChanged),
    "carrel/key": (models.KeyParams, models.KeyResult),
    "carrel/audit": (audit.AuditParams, audit.AuditResult),
    "carrel/tools/search": (tools.ToolsSearchParams, tools.ToolsSearchResult),
    "carrel/tools/list": (tools.ToolsListParams, tools.ToolsListResult),
    "carrel/pipeline/validate": (tools.PipelineParams, tools.PipelineChecked),
    "carrel/pipeline/run": (tools.PipelineRunParams, tools.PipelineRunResult),
    "carrel/clear": (index.ClearParams, index.ClearResult),
}
"""Every request that an editor may send: its parameters and its result. Each is also a command, with a dot for the slash."""

PARTIAL_RESULTS: dict[str, type[Wire]] = {
    "carrel/chat": chat.ChatStep,
    "carrel/review": talk.ReviewStep,
    "carrel/pipeline/run": tools.PipelineStep,
}
"""What such a request reports by `$/progress` under its `partialResultToken`, before its result."""

CLIENT_REQUESTS: dict[str, tuple[type[Wire], Any]] = {
    "carrel/complete": (talk.CompleteParams, talk.CompleteResult),
    "carrel/confirm": (models.ConfirmParams, models.ConfirmResult),
}
"""What the server asks of a client that announces it in its capabilities, under `experimental.carrel`: `{"complete": true}`."""

NOTIFICATIONS: dict[str, type[Wire]] = {"carrel/statusChanged": index.StatusResult}
"""What the server sends by itself."""

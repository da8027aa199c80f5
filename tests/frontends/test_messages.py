"""What may be sent, and how a mistake in it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from carrel.frontends.common.wire import Wire
from carrel.frontends.lsp import protocol_docs
from carrel.frontends.lsp.convert.convert_questions import to_lines
from carrel.frontends.lsp.convert.request_targets import selected_lines
from carrel.frontends.lsp.messages.index_messages import IndexParams
from carrel.frontends.lsp.messages.question_messages import ActiveEditor, ContextParams, Position, Range, SearchParams
from carrel.model.bounds import MOST_LINES
from carrel.model.errors import InvalidInput
from carrel.model.structs import decode
from carrel.model.types import Lines
from carrel.service.context_request import FileRef


def test_unknown_fields_and_nulls_are_ignored() -> None:
    params = decode(ContextParams, {"query": "q", "topK": None, "filters": {"symbol": None, "future": 1}, "future": {"a": 1}})
    assert (params.query, params.top_k, params.filters.symbol, params.trigger, params.wait_ms) == (
        "q",
        None,
        None,
        "chat",
        10_000,
    )


def test_no_parameters_are_an_empty_object() -> None:
    assert decode(IndexParams, None) == IndexParams()


@pytest.mark.parametrize(
    ("kind", "raw", "field"),
    [
        (SearchParams, {}, "query"),
        (SearchParams, {"query": 1}, "query"),
        (SearchParams, {"query": "q", "limit": "10"}, "limit"),
        (SearchParams, {"query": "q", "limit": 0}, "limit"),
        (SearchParams, {"query": "q", "filters": []}, "filters"),
        (SearchParams, {"query": "q", "filters": {"languages": ["python", 1]}}, "filters.languages[1]"),
        (SearchParams, {"query": "q", "filters": {"minScore": 2}}, "filters.minScore"),
        (ContextParams, {"query": "q", "active": {}}, "active.uri"),
        (
            ContextParams,
            {"query": "q", "active": {"uri": "f", "selection": {"start": {"line": -1, "character": 0}}}},
            "active.selection.start.line",
        ),
        (ContextParams, {"query": "q", "trigger": "now"}, "trigger"),
        (ContextParams, {"query": "q", "budget": {"tokens": 0}}, "budget.tokens"),
        (ContextParams, [], "params"),
        (ContextParams, "query", "params"),
    ],
)
def test_a_wrong_value_is_named_as_on_the_wire(kind: type[Wire], raw: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(kind, raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({}, "query: is missing"),
        ({"query": 1}, "query: must be text, not a whole number"),
        ({"query": "q", "limit": 0}, "limit: must be 1 or more"),
        ({"query": "q", "limit": 5_000}, "limit: must be 200 at most"),
        ({"query": "q", "limit": 1.5}, "limit: must be a whole number, not a fraction"),
        ({"query": "q", "filters": {"pathGlob": 5}}, "filters.pathGlob: must be text or a list, not a whole number"),
        (
            {"query": "q", "filters": {"sources": ["web"]}},
            "filters.sources[0]: can't be 'web': that is none of the possible values",
        ),
        ({"query": "q", "filters": {"metadata": {"a": 5}}}, "filters.metadata: must be text or a list, not a whole number"),
        ({"query": "q", "filters": []}, "filters: must be an object, not a list"),
        (7, "params: must be an object"),
    ],
)
def test_a_wrong_value_is_told_in_plain_words(raw: object, told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decode(SearchParams, raw)
    assert str(caught.value) == told


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert decode(SearchParams, {"query": "q", "limit": 3.0}) == decode(SearchParams, {"query": "q", "limit": 3})


def test_lines_and_characters_have_one_bound() -> None:
    most = 2**53 - 1
    assert decode(Position, {"line": most, "character": most}) == Position(line=most, character=most)
    everything = Range(start=Position(line=0, character=0), end=Position(line=most, character=most))
    assert to_lines(everything) == (1, MOST_LINES)
    selected = selected_lines(FileRef("a.py", "a.py"), ActiveEditor(uri="file:///a.py", selection=everything))
    assert selected == Lines("a.py", 1, MOST_LINES)
    for field in ("line", "character"):
        with pytest.raises(InvalidInput):
            decode(Position, {"line": 0, "character": 0, field: most + 1})


def test_generated_files_are_up_to_date() -> None:
    hint = "run python -m carrel.frontends.lsp.protocol_docs"
    assert protocol_docs.DOC.read_text("utf-8") == protocol_docs.document(), hint
    assert Path(protocol_docs.SCHEMA).read_text("utf-8") == protocol_docs.schema_text(), hint

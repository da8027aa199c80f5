"""Errors travel with fields, so that no program has to read their sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carrel.frontends.cli import main
from carrel.frontends.lsp.convert.convert_questions import to_filters
from carrel.frontends.lsp.messages.question_messages import FiltersParam, SearchParams
from carrel.frontends.lsp.rpc import INVALID_PARAMS, REQUEST_FAILED, to_rpc_error
from carrel.model.errors import CarrelError, InvalidInput, NotWriter, ProviderError, SettingsError, StoreError
from carrel.model.native import Filter, SecretOptions
from carrel.model.structs import decode
from carrel.settings.settings import Layer, resolve


@pytest.mark.parametrize(
    ("error", "sentence", "data"),
    [
        (
            InvalidInput("workspace_folder", "is not an open folder"),
            "workspaceFolder: is not an open folder",
            {"kind": "InvalidInput", "field": "workspaceFolder", "reason": "is not an open folder"},
        ),
        (
            InvalidInput("path_globs", "is not a pattern", "Close the bracket.", value="["),
            'pathGlobs: "[" is not a pattern. Close the bracket.',
            {"kind": "InvalidInput", "field": "pathGlobs", "value": "[", "remedy": "Close the bracket."},
        ),
        (
            NotWriter("Another Carrel process writes this index", "Index there."),
            "Another Carrel process writes this index. Index there.",
            {"kind": "NotWriter", "remedy": "Index there.", "retryable": True},
        ),
        (
            StoreError("a.db: the disk is full", "free some disk space"),
            "a.db: the disk is full: free some disk space",
            {"kind": "StoreError", "reason": "a.db: the disk is full", "remedy": "free some disk space", "retryable": False},
        ),
        (ProviderError("The model is busy.", retryable=True), "The model is busy.", {"kind": "ProviderError", "retryable": True}),
        (
            SettingsError(Path("s.toml"), "it is a link"),
            "s.toml can't be read: it is a link. Correct or remove it; it may leave files out, so none is read until then.",
            {"kind": "SettingsError", "reason": "s.toml can't be read: it is a link"},
        ),
    ],
)
def test_an_error_travels_as_a_sentence_and_as_fields(error: CarrelError, sentence: str, data: dict[str, Any]) -> None:
    sent = to_rpc_error(error)
    assert (sent.code, sent.message) == (INVALID_PARAMS if isinstance(error, InvalidInput) else REQUEST_FAILED, sentence)
    assert isinstance(sent.data, dict)
    assert sent.data | data == sent.data
    assert {"kind", "reason", "remedy", "retryable"} <= sent.data.keys()
    assert ("field" in sent.data) == isinstance(error, InvalidInput)


def test_the_cores_errors_have_fields_too() -> None:
    with pytest.raises(InvalidInput) as glob:
        Filter(exclude_globs=["src", "a[b"])
    assert (glob.value.field, glob.value.value) == ("exclude_globs", "a[b")
    assert glob.value.reason.startswith("is not a pattern: unclosed")
    with pytest.raises(InvalidInput) as pattern:
        SecretOptions(patterns=["("])
    assert (pattern.value.field, pattern.value.value) == ("secretPatterns", "(")


def test_a_wrong_field_is_told_by_the_name_that_it_was_sent_under() -> None:
    with pytest.raises(InvalidInput) as wrong:
        to_filters(decode(FiltersParam, {"languages": ["pyhton"]}))
    error = wrong.value
    assert (error.field, error.value, error.remedy) == ("filters.languages", "pyhton", "Did you mean python?")
    for called, known in (("golang", "go"), ("C#", "c-sharp"), ("rs", "rust")):
        with pytest.raises(InvalidInput) as raised:
            to_filters(decode(FiltersParam, {"languages": [called]}))
        assert raised.value.remedy == f"Did you mean {known}?"
    with pytest.raises(InvalidInput) as missing:
        decode(SearchParams, {})
    assert missing.value.field == "query"


def test_a_pattern_of_the_settings_is_quoted_once() -> None:
    _, [problem] = resolve(Layer("editor", {"exclude": ["a[b"]}))
    assert str(problem).count("a[b") == 1
    assert "leaves out nothing, for it is not a pattern: unclosed" in str(problem)


def test_the_command_line_names_the_option_that_was_typed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "--path", str(tmp_path), "--language", "pyhton", "anything"]) == 2
    assert capfd.readouterr().err.startswith(
        'carrel: --language: "pyhton" is not a language that Carrel knows. Did you mean python?'
    )

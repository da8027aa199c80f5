"""A tool of the catalogue that a model calls by itself."""

from __future__ import annotations

import json

import pytest

from carrel.agent.tools.catalogue_tools import ApprovedTool, ExecuteArguments, ExecutePipeline
from carrel.extensions.tools.pipelines.format import refers
from carrel.model.conversation import ToolSpec


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("Hello {{input_data}}", False),
        ("{{step_0.output}}", False),
        ("{{ step_x.output }}", False),
        ("${{ inputs.name }} {{ name }} {{ .Values.input }}", True),
    ],
)
async def test_text_that_a_pipeline_would_fill_is_refused_and_a_template_is_literal(text: str, *, runs: bool) -> None:
    ran: list[object] = []

    async def execute(request: ExecuteArguments) -> tuple[str, str]:
        ran.append(json.loads(request.pipeline)["steps"][0]["args"])
        return "done", ""

    tool = ApprovedTool(ToolSpec("create", "", {}), "files.create", ExecutePipeline(execute), refers)
    result = await tool.run({"lines": [{"text": text}]})
    assert (ran, result.is_error) == (([{"lines": [{"text": text}]}], False) if runs else ([], True))
    assert runs or "{{input_data}}" in result.text

"""A tool of the catalogue that a model calls by itself."""

from __future__ import annotations

from carrel.agent.tools.catalogue_tools import ApprovedTool, ExecutePipeline
from carrel.model.conversation import ToolSpec


async def test_text_with_braces_is_refused_before_a_pipeline_fills_them() -> None:
    async def never(_: object) -> tuple[str, str]:
        raise AssertionError("it ran")

    tool = ApprovedTool(ToolSpec("create", "", {}), "files.create", ExecutePipeline(never))
    result = await tool.run({"text": "Hello {{input_data}}"})
    assert result.is_error
    assert "{{" in result.text

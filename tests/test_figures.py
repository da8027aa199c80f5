"""The pages of figures are what `docs/figures/` holds, and each figure says how it was measured."""

from __future__ import annotations

import pytest
from tests.bench import figures

TOPICS = [topic for _, topics in figures.PAGES.values() for topic in topics]


@pytest.mark.parametrize("name", figures.PAGES)
def test_a_page_of_figures_is_current(name: str) -> None:
    assert (figures.ROOT / "docs" / f"{name}.md").read_text("utf-8") == figures.page(name), "run python -m tests.bench.figures"


def test_the_curves_are_current() -> None:
    assert figures.pictures()
    for file, picture in figures.pictures().items():
        assert file.read_text("utf-8") == picture, "run python -m tests.bench.figures"


@pytest.mark.parametrize("topic", TOPICS)
def test_a_figure_names_date_machine_command_and_cases(topic: str) -> None:
    measured = figures.read(topic)
    assert [key for key in figures.REQUIRED if not measured.get(key)] == []
    assert {len(row) for row in measured["rows"]} == {len(measured["columns"])}


def test_every_file_of_figures_is_shown() -> None:
    assert sorted(TOPICS) == sorted(file.stem for file in figures.FIGURES.glob("*.json"))

"""Spec D2: what is said exactly and what is said in other words are both found, and a question that mixes them."""

from __future__ import annotations

import pytest
from tests.support.texts import ask, indexed, paths

from carrel.model.native import Snapshot

FILES = {
    "docs/errors.md": "# Error codes\n\n## ORA-12154\n\nThe TNS name of the connect identifier could not be resolved.\n\n"
    "## ORA-00942\n\nThe table or view does not exist.\n",
    "docs/outage.md": "# The database refuses connections\n\nLook at the firewall, then at the pool of the application server.\n",
    "docs/mail.md": "# Mail is not delivered\n\nLook at the queue and at the greylist of the receiver.\n",
    "docs/holidays.md": "# Holidays\n\nAsk your lead three weeks before, and write it into the calendar of the team.\n",
    "docs/release.md": "# Releases\n\nTag the commit, wait for the build, and publish the notes.\n",
}


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return indexed(FILES)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("ORA-12154", "docs/errors.md"),
        ("can't connect to database", "docs/outage.md"),
        ("ORA-12154 won't connect", "docs/errors.md"),
    ],
)
def test_a_code_and_a_meaning_both_find_their_document(view: Snapshot, question: str, expected: str) -> None:
    found = ask(view, question)
    assert paths(found)[0] == expected
    best = found.ranked[0]
    assert best.lexical_rank is not None
    assert best.dense_rank is not None


def test_words_that_stand_nowhere_are_found_by_their_meaning_alone(view: Snapshot) -> None:
    found = ask(view, "vacation")
    assert paths(found)[0] == "docs/holidays.md"
    assert found.ranked[0].lexical_rank is None

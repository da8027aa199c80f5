from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.services.standin import StandIn, running


@pytest.fixture
def service() -> Iterator[StandIn]:
    """A stand-in that behaves until it is told otherwise."""
    with running() as standin:
        yield standin

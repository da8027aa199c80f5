"""Names with a wrong letter, and names that were only begun."""

from __future__ import annotations

import pytest
from tests.support.texts import ask, indexed, paths

VIEW = indexed(
    {
        "shop/client.py": "class AsyncClient:\n    def aclose(self):\n        return self.transport.aclose()\n",
        "shop/ports.py": "def normalize_port(text):\n    return int(text) if text else None\n",
        "shop/url.py": "from shop.ports import normalize_port\n\n\ndef parse(url):\n    return normalize_port(url.port)\n",
        **{f"shop/part_{n}.py": f"def step_{n}(order):\n    order.state = {n}\n    return order\n" for n in range(9)},
    }
)


@pytest.mark.parametrize(
    ("typed", "meant", "path"),
    [
        ("AsyncClent", "AsyncClient", "shop/client.py"),
        ("asynclient", "AsyncClient", "shop/client.py"),
        ("shop.AsnycClient", "shop.AsyncClient", "shop/client.py"),
        ("normalise_port()", "normalize_port", "shop/ports.py"),
        ("AsyncCl", "AsyncClient", "shop/client.py"),
        ("where is normalize_p called?", "where is normalize_port called?", "shop/ports.py"),
        ("what does normalise_port return?", "what does normalize_port return?", "shop/ports.py"),
    ],
)
def test_a_mistyped_name_is_found_and_told(typed: str, meant: str, path: str) -> None:
    found = ask(VIEW, typed)
    assert found.diagnostics.rewritten == meant
    assert (found.diagnostics.problem or "").startswith("Nothing is called ")
    assert paths(found)[0] == path
    assert found.answer == found.hits


@pytest.mark.parametrize(
    "typed", ["AsyncClient", "normalize_port", "where is the port parsed", "thanks", "fix: add normalise_port"]
)
def test_what_is_there_or_is_to_be_is_left_as_it_is(typed: str) -> None:
    assert ask(VIEW, typed).diagnostics.rewritten is None


def test_a_name_that_nothing_is_near_finds_nothing() -> None:
    found = ask(VIEW, "AbstractBeanFactoryLocator")
    assert found.diagnostics.rewritten is None
    assert found.answer == ()

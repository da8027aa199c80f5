"""Text that is pasted as it stands comes first, wherever it stands; relevance tells the order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.texts import EMBEDDER, ask, indexed, paths

from carrel.model.native import CancelToken, Candidate, Snapshot
from carrel.model.types import Filters, Query
from carrel.question.prepare import prepare_blocking
from carrel.search.candidates import search

_LONG = "".join(f"    step_{n} = prepare(order, {n})  # the connection of worker {n} is kept\n" for n in range(60))
FILES = {
    "app/orders.py": '''def place_order(customer, basket):
    """Place an order: the message goes to the customer, the event to the log."""
    if not basket:
        raise ValueError("The basket of the customer is empty")
    if len(basket) > LARGEST:
        raise ValueError(f"A basket of {len(basket)} items is more than {LARGEST}: " "divide the order")
    return Order(customer, basket, state=INITIAL_STATE)


def cancel_order(order, reason):
    """Cancel an order and tell the customer why."""
    order.state = "cancelled"
    notify(order.customer, reason)
''',
    "app/state.py": '''INITIAL_STATE = "placed"


def next_state(order):
    """The state that follows."""
    return TRANSITIONS[order.state]
''',
    "app/restart.py": '''def restart(server):
    """Restart a server according to its protocol."""
    server.stop()
    server.start(protocol=server.protocol)
''',
    "app/pipeline.py": f'def run_pipeline(order):\n    """All steps."""\n{_LONG}    return order\n',
    "app/use_a.py": "def first(order):\n    return next_state(next_state(order)), next_state(order)\n",
    "app/use_b.py": "def second(order):\n    next_state(order)\n    next_state(order)\n    return next_state(order)\n",
    "tests/test_orders.py": """class OrderTests:
    def test_placing_twice_is_refused_politely(self):
        order = place_order(customer, basket)
        with self.assertRaises(ValueError, "An order for this customer was placed already"):
            place_order(customer, basket)

    def make_frobnicated_basket(self):
        return Basket(items=[Item(1), Item(2)])
""",
    "docs/runbook.md": """# Runbook of the shop

## Restart Phoenix server according to protocol

Tell the team, stop the workers, then start them one after another.

## ORA-12154

The listener of the database doesn't know the service.
""",
    "CHANGES.md": """# Changes

- Restart Phoenix server according to protocol: the runbook says how.
- Cancel an order and tell the customer why.
- The basket of the customer is empty: a message of its own.
""",
    "config/shop.toml": '[mail]\nretry_backoff_seconds = 30\nsender = "Shop of Ships <shop@example.org>"\n',
}
SENTENCES = ("{}", "where does {} come from?", "I get {} and do not know why", "what is {} for", "explain {}")


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return indexed(FILES)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("test_placing_twice_is_refused_politely", "tests/test_orders.py"),
        ("make_frobnicated_basket", "tests/test_orders.py"),
        ("An order for this customer was placed already", "tests/test_orders.py"),
        ("The basket of the customer is empty", "app/orders.py"),  # the list of changes repeats it
        ("Cancel an order and tell the customer why", "app/orders.py"),
        ("Restart Phoenix server according to protocol", "docs/runbook.md"),
        ("ORA-12154", "docs/runbook.md"),
        ("retry_backoff_seconds", "config/shop.toml"),
        ("Shop of Ships", "config/shop.toml"),
        ("next_state", "app/state.py"),  # others use it more often
        ("INITIAL_STATE", "app/state.py"),
    ],
)
def test_the_place_that_holds_it_comes_first(view: Snapshot, text: str, path: str, sentence: str) -> None:
    assert paths(ask(view, sentence.format(text)))[0] == path


@pytest.mark.parametrize("code", ["ORA-12154", "E_PAY_0097", "0x80070005", "TS2345"])
@pytest.mark.parametrize("sentence", ["placing an order of a customer fails with {}", "{} order customer basket state", "{}"])
def test_a_code_that_hardly_any_place_holds_leads_to_it_among_whatever_words(code: str, sentence: str) -> None:
    page = f"# Trouble\n\nWhen you see {code}, copy the template and start the listener again.\n"
    assert paths(ask(indexed({**FILES, "docs/trouble/listener.md": page, "docs/runbook.md": ""}), sentence.format(code)))[0] == (
        "docs/trouble/listener.md"
    )


@pytest.mark.parametrize("sentence", ["{}", "what changed in {}?", "what changed in version {}", "Version {}", "{} changelog"])
def test_a_version_is_found_among_those_of_the_same_digits(sentence: str) -> None:
    versions = [f"{a}.{b}.{c}" for a in range(1, 5) for b in range(1, 5) for c in range(1, 5)]
    changes = "".join(
        f"## Version {version}\n\n-   Options of the server are read once, #{n}.\n\n" for n, version in enumerate(versions)
    )
    view = indexed({**FILES, "CHANGES.md": changes})
    for version in ("1.4.2", "4.1.2"):
        [hit, *_] = ask(view, sentence.format(version)).hits
        assert (hit.chunk.path, hit.chunk.symbol) == ("CHANGES.md", f"Version {version}"), sentence


@pytest.mark.parametrize(
    "pasted",
    [
        "A basket of 17 items is more than 5: divide the order",
        "2026-03-02 12:01:22 ERROR [shop] A basket of 17 items is more than 5: divide the order",
        "ValueError: A basket of 17 items is more than 5",
        "\x1b[40m\x1b[1;31mA basket of \x1b[33m17\x1b[0m items is more than 5: divide the order\x1b[0m",
        "why do I get 'A basket of {next_state} items is more than step_17: divide the order'?",
    ],
)
def test_the_place_that_writes_a_message_comes_first_whatever_its_values_are(view: Snapshot, pasted: str) -> None:
    assert paths(ask(view, pasted))[0] == "app/orders.py"
    best = max(found(view, pasted), key=lambda candidate: candidate.verbatim)
    assert best.path == "app/orders.py"
    assert best.verbatim > 0.9


MESSAGE = "A basket of 17 items is more than 5: divide the order"


@pytest.mark.parametrize(
    "pasted",
    [
        "2026-03-02T12:01:22Z WARN (main) {}",
        "[E 26/03/02 12:01:22] {}",
        "Mar  2 12:01:22 host app: ERROR {}",
        "shop.errors.StoreError: {}",
        "E       ValueError: {}",
        "Caused by: java.lang.IllegalStateException: {}",
        'Exception in thread "main" java.lang.RuntimeException: {}',
        "thread 'main' panicked at src/main.rs:10:5: {}",
        "what does “{}” mean",
        "{} - what does that mean?",
        "I see {} when I start it",
        "Find the line that logs {}",
        "I0302 12:01:22.123456 1234 open.cc:33] {}",
        "PHP Fatal error:  Uncaught StoreException: {}",
        "[журнал] ошибка: {}",
        "为什么我看到 {}",
    ],
)
def test_what_stands_around_a_message_counts_nothing_against_it(view: Snapshot, pasted: str) -> None:
    assert paths(ask(view, pasted.format(MESSAGE)))[0] == "app/orders.py"


OUTPUTS = (
    """Any idea what this means?

2026-03-02 12:01:21 INFO [shop] Restart Phoenix server according to protocol
2026-03-02 12:01:22 INFO [shop] sender is Shop of Ships, retry_backoff_seconds is 30
2026-03-02 12:01:22 ERROR [shop] A basket of 17 items is more than 5: divide the order
2026-03-02 12:01:23 INFO [shop] The worker of next_state is kept
""",
    """Traceback (most recent call last):
  File "/srv/shop/start.py", line 3, in main
    run(server)
  File "/srv/shop/nightly.py", line 80, in run
    job.start()
ValueError: A basket of 17 items is more than 5: divide the order
""",
)


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_place_that_writes_the_gravest_message_of_an_output_comes_first(view: Snapshot, output: str) -> None:
    answer = ask(view, output)
    assert (answer.hits[0].chunk.path, answer.hits[0].chunk.symbol) == ("app/orders.py", "place_order")
    assert "writes the message" in answer.files[0].reasons
    assert answer.confidence > 0.5
    pinned = ask(view, output, pinned=("docs/runbook.md",))
    assert paths(pinned)[:2] == ["docs/runbook.md", "app/orders.py"]


def found(view: Snapshot, text: str) -> list[Candidate]:
    """Every candidate for a text."""
    return search(view, prepare_blocking(Query(text), EMBEDDER).texts[""], Query(text), 0.3, CancelToken())[0]


def test_the_longest_run_of_words_is_found_in_a_text(view: Snapshot) -> None:
    best = max(found(view, "The basket of the customer is empty"), key=lambda candidate: candidate.verbatim)
    assert (best.path, best.verbatim_words) == ("app/orders.py", 7)
    assert best.verbatim == pytest.approx(1.0)
    wished = max(found(view, "Fix: the basket of the customer is empty"), key=lambda candidate: candidate.verbatim)
    assert wished.path == "app/orders.py"
    assert wished.verbatim == pytest.approx(1.0)


WORDS = sorted({word for text in FILES.values() for word in text.split() if word.isprintable()})


@settings(max_examples=60)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join), st.floats(0, 1))
def test_the_least_score_cuts_by_relevance(view: Snapshot, text: str, least: float) -> None:
    found = ask(view, text, limit=30)
    scores = [hit.score for hit in found.hits]
    assert all(0 <= score <= 1 for score in scores)
    kept = ask(view, text, limit=30, filters=Filters(min_score=least))
    assert [hit.chunk.id for hit in kept.hits] == [hit.chunk.id for hit in found.hits if hit.score >= least]


def test_a_name_is_found_where_documents_tell_of_it_behind_code_that_defines_it() -> None:
    settings_page = "Settings\n========\n\n" + "".join(
        f".. confval:: {name}\n\n   {text}\n\n"
        for name, text in (
            ("log_cli", "Writes records while it runs."),
            ("order_limit", "How many."),
            ("place_order", "Places it."),
        )
    )
    flags = "Flags\n=====\n\n.. option:: --strict-order, --so\n\n   Refuses what is unknown.\n"
    code = "def place_order(limits):\n    return limits.order_limit\n\n\ndef log(limits):\n    emit(limits.log_cli)\n"
    uses = {"app/a.py": code, "app/b.py": "def limit(values):\n    values.order_limit = max(values.order_limit, 1)\n"}
    found = indexed({"docs/settings.rst": settings_page, "docs/flags.rst": flags, **uses})
    for text, expected in (
        ("log_cli", "docs/settings.rst"),
        ("order_limit", "docs/settings.rst"),
        ("order_limit setting", "docs/settings.rst"),
        ("--strict-order", "docs/flags.rst"),
        ("strict-order", "docs/flags.rst"),
    ):
        assert paths(ask(found, text))[0] == expected, text
    assert paths(ask(found, "place_order"))[:2] == ["app/a.py", "docs/settings.rst"]

"""Issues against a small real index: which files and functions come first, and why."""

from __future__ import annotations

import pytest
from tests.support.texts import EMBEDDER, ask, indexed, paths

from carrel.model.errors import Cancelled
from carrel.model.native import CancelToken, Snapshot
from carrel.model.types import Filters, Query
from carrel.question.prepare import prepare_blocking
from carrel.search.files import located_files
from carrel.search.retriever import Retrieval, retrieve

SHOP = {
    "shop/cart.py": '''class Cart:
    """What a customer is about to buy."""

    def __init__(self, items, voucher=None):
        self.items = items
        self.voucher = voucher

    def total(self):
        """Sum up the prices of all items, less the discount of the voucher."""
        full = sum(item.price for item in self.items)
        return round_price(full - self.discount(full))

    def discount(self, full):
        """What the voucher takes off."""
        return full * self.voucher.rate if self.voucher else 0
''',
    "shop/pricing.py": '''def round_price(amount):
    """Round an amount to whole cents."""
    return int(amount * 100 + 0.5) / 100


def tax_of(amount, country):
    """The value added tax of an amount in a country."""
    return amount * TAX_RATES[country]
''',
    "shop/mail.py": '''def send_receipt(customer, cart):
    """Mail the receipt of an order to the customer."""
    body = render("receipt.txt", cart=cart, total=cart.total())
    connect().send(customer.address, body)


def connect():
    """Open a connection to the mail server."""
    return Connection(settings.MAIL_HOST, timeout=settings.MAIL_TIMEOUT)
''',
    "shop/stock.py": '''def reserve(item, count):
    """Take items out of stock for an order that is being placed."""
    if item.stock < count:
        raise OutOfStock(item)
    item.stock -= count
''',
    "tests/test_cart.py": """def test_total_of_a_cart_with_a_voucher():
    cart = Cart([Item(price=10)], voucher=Voucher(rate=0.1))
    assert cart.total() == 9


def test_discount_of_a_voucher():
    assert Cart([], voucher=Voucher(rate=0.5)).discount(10) == 5
""",
    "docs/vouchers.md": "# Vouchers\n\nA voucher takes a discount off the total of a cart. The discount is rounded to cents.\n",
    "CHANGES.md": "# 2.0\n\n- The total of a cart takes the discount of its voucher into account.\n",
}
NOISE = """
We run version 2.1.0 on Debian 12 behind nginx. Restarting didn't help, and the mail server is reachable, the
connection to it opens, and the receipt arrives. The stock is reserved as it should be when an order is placed.
I looked at the customer's address and at the timeout of the mail server, both are fine.
"""
TRACE = """
Traceback (most recent call last):
  File "/srv/app/shop/mail.py", line 3, in send_receipt
    body = render("receipt.txt", cart=cart, total=cart.total())
  File "/srv/app/shop/cart.py", line 15, in discount
    return full * self.voucher.rate if self.voucher else 0
AttributeError: 'str' object has no attribute 'rate'
"""


@pytest.fixture(scope="module")
def view() -> Snapshot:
    return indexed(SHOP)


def files(found: Retrieval) -> list[str]:
    return [file.path for file in found.files]


def reasons(found: Retrieval, path: str) -> tuple[str, ...]:
    return next(file.reasons for file in found.files if file.path == path)


def test_a_trace_points_to_its_innermost_function(view: Snapshot) -> None:
    found = ask(view, f"It crashes since the last release\n{TRACE}")
    assert files(found)[0] == "shop/cart.py"
    assert "the last of its files in the trace" in reasons(found, "shop/cart.py")
    assert "in the trace" in reasons(found, "shop/mail.py")
    first = found.hits[0].chunk
    assert first.path == "shop/cart.py"
    assert first.span.start_line <= 15 <= first.span.end_line


def test_the_title_counts_more_than_the_noise_below_it(view: Snapshot) -> None:
    assert files(ask(view, f"Amounts are rounded to wrong cents\n{NOISE}"))[0] == "shop/pricing.py"
    assert files(ask(view, f"tax_of knows no country but one\n{NOISE}"))[0] == "shop/pricing.py"


def test_a_path_in_the_text_is_a_reason(view: Snapshot) -> None:
    found = ask(view, f"`round_price` is wrong for negative amounts\n{NOISE}\nsee shop/stock.py")
    assert reasons(found, "shop/pricing.py")[-1].startswith("number 1 for the title")
    assert "named by its path" in reasons(found, "shop/stock.py")


@pytest.mark.parametrize(
    ("title", "first", "last"),
    [
        (
            "The discount of a voucher is not in the total of the cart",
            "shop/cart.py",
            {"tests/test_cart.py", "docs/vouchers.md", "CHANGES.md"},
        ),
        ("The test of a voucher's discount fails", "shop/cart.py", {"tests/test_cart.py", "docs/vouchers.md", "CHANGES.md"}),
        ("Add tests for the discount of a voucher in a cart", "tests/test_cart.py", {"docs/vouchers.md", "CHANGES.md"}),
        ("Typo in the docs on vouchers", "docs/vouchers.md", {"tests/test_cart.py"}),
    ],
)
def test_tests_and_documents_come_last_unless_the_title_asks_for_them(
    view: Snapshot, title: str, first: str, last: set[str]
) -> None:
    found = ask(view, f"{title}\n{NOISE}", limit=50)
    assert first in paths(found)[:2]
    assert set(paths(found)[-len(last) :]) == last
    assert files(found) == list(dict.fromkeys(paths(found))), "files are told in the order of their hits"


def test_a_function_comes_before_a_constant_with_the_same_words() -> None:
    index = indexed(
        {
            "shop/limits.py": "LIMIT_OF_ORDERS_A_DAY = 7  # the limit of orders that a customer places a day\n\n\n"
            "def check(customer, orders):\n"
            '    """Check the limit of orders that a customer places a day."""\n'
            "    found = [order for order in orders if order.customer == customer]\n"
            "    if len(found) > 7:\n"
            "        raise OverLimit(customer)\n"
            "    return found\n",
        }
    )
    found = ask(index, f"The limit of orders a day is off by one\n{NOISE}", limit=50)
    assert [hit.chunk.kind for hit in found.hits] == ["function", "declaration"]


def test_the_last_function_of_a_trace_that_is_here_comes_first(view: Snapshot) -> None:
    outside = '  File "/usr/lib/python3/json/decoder.py", line 9, in decode\n    return self.scan(text)\n'
    trace = TRACE.replace("AttributeError", f"{outside}AttributeError")
    first = ask(view, f"It crashes since the last release\n{trace}").hits[0].chunk
    assert first.path == "shop/cart.py"
    assert "discount" in first.definitions


def test_pinned_files_come_first(view: Snapshot) -> None:
    found = ask(view, f"Amounts are rounded to wrong cents\n{NOISE}", pinned=("tests/test_cart.py",))
    assert found.hits[0].chunk.path == "tests/test_cart.py"


def test_filters_hold(view: Snapshot) -> None:
    found = ask(view, f"Amounts are rounded to wrong cents\n{NOISE}{TRACE}", filters=Filters(path_globs=("shop/[m-s]*.py",)))
    assert set(files(found)) == {"shop/mail.py", "shop/pricing.py", "shop/stock.py"}
    docs = ask(view, f"Amounts are rounded to wrong cents\n{NOISE}", filters=Filters(sources=("docs",)))
    assert {hit.chunk.source for hit in docs.hits} == {"docs"}


def test_a_cancelled_question_raises(view: Snapshot) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        retrieve(view, prepare_blocking(Query(f"Amounts are rounded to wrong cents\n{NOISE}"), EMBEDDER), token)


def test_the_least_score_cuts_by_relevance(view: Snapshot) -> None:
    text = f"Amounts are rounded to wrong cents\n{NOISE}{TRACE}"
    found = ask(view, text, limit=50)
    least = sorted(hit.score for hit in found.hits)[len(found.hits) // 2]
    kept = ask(view, text, limit=50, filters=Filters(min_score=least))
    assert [hit.chunk.id for hit in kept.hits] == [hit.chunk.id for hit in found.hits if hit.score >= least]


def test_the_same_text_is_answered_alike_with_any_line_ends(view: Snapshot) -> None:
    text = f"Placing an order crashes\n{NOISE}{TRACE}"
    assert files(ask(view, text)) == files(ask(view, text.replace("\n", "\r\n")))


def test_a_question_lists_files_by_their_best_hit(view: Snapshot) -> None:
    found = ask(view, "how is an amount rounded to cents?", limit=50)
    assert found.files == ()
    listed = located_files(found)
    assert listed[0].path == "shop/pricing.py"
    assert [file.path for file in listed] == list(dict.fromkeys(hit.chunk.path for hit in found.hits))
    assert "cents" in listed[0].reasons[0]

from __future__ import annotations

import time

import pytest

from carrel.question.issue_text import LONGEST_READ, LONGEST_TITLE, IssueText, read

ISSUE = """## `Cart.total` ignores the discount

<!-- Please search for duplicates_of_this before you report. -->
When a voucher is applied, `total` still gives the full price. It worked before apply_voucher was moved
to shop/vouchers.py, and shop.pricing.round_price is called with the right value as far as I can see.

```python
cart = Cart(items=[book])
cart.apply_voucher("TEN")
assert cart.total() == 9
```

>>> cart.discount_rate
0.0

    Traceback (most recent call last):
      File "/srv/shop/cart.py", line 12, in total
    AssertionError

Version 2.1.0 on Linux.
"""
LONG = "It fails whenever the cart is empty, and the reason is not told anywhere.\n" * 4


def parsed(text: str) -> IssueText:
    issue = read(text)
    assert issue is not None
    return issue


def test_an_issue_is_taken_apart() -> None:
    issue = parsed(ISSUE)
    assert issue.title == "`Cart.total` ignores the discount"
    assert issue.prose.startswith("When a voucher is applied")
    assert "Version 2.1.0 on Linux." in issue.prose
    assert not any(code in issue.prose for code in ("items=", "discount_rate", "AssertionError", "duplicates_of_this"))
    assert issue.title_names[:2] == ("Cart", "total")
    assert {"apply_voucher", "pricing", "round_price", "total"} <= set(issue.prose_names)
    assert {"Cart", "apply_voucher", "discount_rate", "total"} <= set(issue.code_names)
    assert [(frame.path, frame.function) for frame in issue.frames] == [("/srv/shop/cart.py", "total")]
    assert "shop/vouchers.py" in issue.paths
    names = (*issue.title_names, *issue.prose_names, *issue.code_names, *issue.paths)
    assert not any("duplicates_of_this" in name for name in names)


def test_line_ends_make_no_difference() -> None:
    unix, windows = parsed(ISSUE), parsed(ISSUE.replace("\n", "\r\n"))
    assert unix == windows


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"Totals are wrong\n\n{LONG}", "Totals are wrong"),
        (f"# Totals are wrong\n{LONG}", "Totals are wrong"),
        (f"**Totals are wrong**\n{LONG}", "Totals are wrong"),
        (f"<!-- a template -->\n\n### Totals are wrong\n{LONG}", "Totals are wrong"),
        (f"{'a ' * 200}\n{LONG}", ("a " * 200)[:LONGEST_TITLE]),
        ("```\n" + "x = 1\n" * 40 + "raise CartError\n```\n", "raise CartError"),
        ("\n".join(f"    x_{n} = {n}" for n in range(40)), "x_39 = 39"),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in total\n    f()\nKeyError: 1', "KeyError: 1"),
        ("    at f (/a.js:1:1)\n    at g (/a.js:2:1)", "at g (/a.js:2:1)"),
        ("src/a.c:1:2: error: no cart\n    return x;", "src/a.c:1:2: error: no cart"),
        ("panic: no cart\n\ngoroutine 1 [running]:\nmain.total(0x1)\n\t/srv/a.go:5 +0x1\n", "panic: no cart"),
    ],
)
def test_the_title_is_the_first_line_in_words(text: str, title: str) -> None:
    assert parsed(text).title == title


PRINTED = "2026-03-02 12:01:22 INFO [worker-3] processed a batch of 7\n" * 9
TABLE = "NAME   READY   STATUS\n" + "api-x7k2p   0/1   Crashed\n" * 9


@pytest.mark.parametrize("paste", [PRINTED, TABLE], ids=["log", "table"])
@pytest.mark.parametrize("form", ["{asked}\n\n{paste}", "{paste}\n{asked}"], ids=["behind", "before"])
def test_what_a_person_asks_beside_a_paste_is_the_title(form: str, paste: str) -> None:
    asked = "where is the size of a batch chosen?"
    assert parsed(form.format(asked=asked, paste=paste)).title == asked


def test_a_log_is_no_prose_beside_a_question() -> None:
    issue = parsed(f"where is the size of a batch chosen?\n{PRINTED}")
    assert issue.lead.strip() == issue.title
    assert "processed" in issue.whole


@pytest.mark.parametrize("end", ["Should it rather be the sum of the items?", "Any ideas?"])
def test_an_issue_that_ends_with_a_question_keeps_its_title(end: str) -> None:
    assert parsed(f"Total of an empty cart is wrong\n{LONG}\n{end}").title == "Total of an empty cart is wrong"


def test_a_trace_alone_is_an_issue_however_short() -> None:
    issue = parsed("boom\n    at total (/srv/cart.js:3:1)")
    assert [frame.function for frame in issue.frames] == ["total"]
    assert issue.prose == ""
    assert issue.opening == issue.title


LOG = """2026-03-02 12:01:21 INFO [main] Reading orders of customer 17
2026-03-02 12:01:22 ERROR [worker-3] Could not open state.db: locked
2026-03-02 12:01:23 WARNING [worker-3] Trying again in 5 seconds
2026-03-02 12:01:24 ERROR [worker-3] Could not write the order 9
"""


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (LOG, ["Could not write the order 9", "Could not open state.db: locked"]),
        (LOG.replace("ERROR", "INFO"), ["Trying again in 5 seconds"]),
        (
            f"since the update this happens, any idea?\n\n```\n{LOG}```",
            ["Could not write the order 9", "Could not open state.db: locked"],
        ),
        (
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nOSError: no more files left',
            ["no more files left"],
        ),
        ('{"level":"error","ts":1.5,"msg":"no \\"orders\\" are left","n":3}\n' * 5, [r"no \"orders\" are left"]),
        ('time=12:01:22 level=error msg="no orders are left" n=3\n' * 5, ["no orders are left"]),
        ("boom went the program\n    at total (/srv/cart.js:3:1)", []),
        (f"{LONG}\n{LOG}", []),
        (f"Totals are wrong\n```\n{LONG}\n```\n{LOG}", []),
    ],
)
def test_messages_are_read_from_output_where_a_person_tells_little(text: str, messages: list[str]) -> None:
    assert list(parsed(text).messages) == messages


def test_code_that_is_not_closed_is_code_to_the_end() -> None:
    issue = parsed(f"Totals are wrong\n{LONG}\n~~~python\nround_price(1)\n")
    assert "round_price" in issue.code_names
    assert "round_price" not in issue.prose


@pytest.mark.parametrize(
    "text",
    ["", "   ", "how is a total rounded?", "how is a total rounded?\n", "how is it\nrounded?", "word " * 1_000, "a\n" * 20],
)
def test_a_question_is_no_issue(text: str) -> None:
    assert read(text) is None


def test_of_a_long_text_both_ends_are_read() -> None:
    issue = parsed("first_name fails\n" + "log line\n" * (LONGEST_READ // 4) + "see `last_name`")
    assert "first_name" in issue.title_names
    assert "last_name" in issue.prose_names
    assert len(issue.whole) <= LONGEST_READ + 1


HOSTILE = (
    *("x", " ", "\n", "`", "```\n", "~~~", "<!--", "<!-- -->", "a.", "a_", "aB", "a(", "a/", "a/b.c ", "/", "**", "# ", ">>> "),
    *("`a`", "\r", "\r\n", "    x\n", ". . ", "-", "[x](y)", "word ", "```\n\n", " ```", "\t", "é", "a" * 300 + "_"),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    text = f"Totals are wrong\n{piece * (1_000_000 // len(piece))}"
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("heading", ["### Description", "**Describe the bug**", "Description\n===========", "# Bug report:"])
def test_the_heading_of_a_template_is_no_title(heading: str) -> None:
    text = (
        f"{heading}\n\nThe exporter drops the last row of every sheet.\n\n### Steps to reproduce\n\n"
        + "Open a sheet and export it. " * 10
    )
    issue = read(text)
    assert issue is not None
    assert issue.title.startswith("The exporter drops")

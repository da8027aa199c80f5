"""What the proxy says of the places that Copilot's answers cite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.frontends.copilot.conftest import Client, Start, initialize
from tests.frontends.copilot.test_proxy import ask_until_augmented

from carrel.frontends.copilot.interceptor import FollowedAnswers

NAMES = {"conversationId": "c", "turnId": "u"}


def say(client: Client, **value: Any) -> None:
    """Have the server report a part of the answer to the last turn."""
    params = {"method": "$/progress", "params": {"token": "t", "value": {**value, **NAMES}}}
    client.send({"jsonrpc": "2.0", "method": "test/say", "params": params})


def told(client: Client) -> Any:
    return client.read()["params"]["value"]


def test_what_does_not_hold_is_said_before_the_end_of_an_answer(start: Start, project: Path, record: Path) -> None:
    client = start("--deadline-ms", "10000")
    initialize(client, project)

    ask_until_augmented(client, record)
    say(client, kind="begin", title="turn")
    for piece in ("Login is `authenticate_user` in auth.p", "y:1-3; the pool is in pool.py:1-2, its limit in pool.py:7", "0-75."):
        say(client, kind="report", reply=piece)
    say(client, kind="end")
    assert [told(client)["kind"] for _ in range(4)] == ["begin", "report", "report", "report"]
    added = told(client)
    assert (added["kind"], {name: added[name] for name in NAMES}) == ("report", NAMES)
    assert added["reply"].strip() == "> Carrel could not confirm `pool.py:70-75` (line 70 was not given)."
    # pool.py:1-2 may not have been given: Copilot opens files by itself, so it is enough that the lines are there.
    verdict = added["citations"]
    assert (verdict["cited"], verdict["unsupported"], verdict["places"][0]["place"]) == (3, 1, "pool.py:70-75")
    assert told(client) == {"kind": "end", **NAMES}

    for text in ("In auth.py:1-3 and pool.py:1-2.", "I don't know."):
        ask_until_augmented(client, record)
        say(client, kind="report", reply=text)
        say(client, kind="end")
        assert [told(client), told(client)] == [{"kind": "report", "reply": text, **NAMES}, {"kind": "end", **NAMES}]

    ask_until_augmented(client, record)
    say(client, kind="report", editAgentRounds=[{"roundId": 4, "reply": "See nothing.py:1-3."}])
    say(client, kind="report", editAgentRounds=[{"roundId": 5, "reply": ""}])
    say(client, kind="end")
    told(client), told(client)
    [added] = told(client)["editAgentRounds"]
    assert added["roundId"] == 4
    assert "`nothing.py:1-3` (the file was not given)" in added["reply"]


def test_nothing_is_said_without_the_option(start: Start, project: Path, record: Path) -> None:
    client = start("--deadline-ms", "2000", "--no-citations")
    initialize(client, project)
    ask_until_augmented(client, record)
    say(client, kind="report", reply="In nothing.py:1-3.")
    say(client, kind="end")
    assert [told(client)["kind"], told(client)["kind"]] == ["report", "end"]


def report(token: Any, **value: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": value}}).encode()


def test_what_is_not_an_answer_is_left_alone() -> None:
    answers = FollowedAnswers()
    answers.follow("t", "p")
    answers.follow(7, "q")
    for odd in (b"[]", b"{", report("other", kind="end"), report("t"), report(["t"], kind="end"), report(None, kind="end")):
        assert answers.take(odd) is None
    assert answers.take(report("t", kind="report", reply="<!-- x -->", hideText=True)) is None
    assert answers.take(report("t", kind="report", reply=5, editAgentRounds=[3, {"reply": None}])) is None
    ended = answers.take(report("t", kind="end"))
    assert ended is not None
    assert ended.text == ""
    assert answers.take(report(7, kind="end", cancellationReason="CancelledByUser")) is None
    assert not answers.any


def test_an_answer_that_is_too_long_is_followed_no_more() -> None:
    answers = FollowedAnswers()
    answers.follow("t", "pack")
    assert answers.take(report("t", kind="report", reply="x" * 200_001)) is None
    assert not answers.any


def test_a_token_is_a_number_or_a_text() -> None:
    answers = FollowedAnswers()
    answers.follow(1, "pack")
    assert answers.take(report(True, kind="end")) is None
    assert answers.take(report(1, kind="end")) is not None

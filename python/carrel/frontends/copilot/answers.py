"""What Copilot answers to turns that got context, read while it passes, and what is told of its citations.

The server reports an answer piece by piece: `reply` of a chat, `editAgentRounds` of an agent's rounds; the last report is of kind
`end`. The protocol has no place for a verdict. One more piece of the answer, before its end, is what every client shows.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_MOST_FOLLOWED = 20
_LONGEST = 200_000
"""Characters of an answer that is followed; a longer one is not checked."""
_MOST_SHOWN = 5
_MOST_REASON = 120


@dataclass(slots=True)
class Answer:
    """An answer so far, and what its question was given."""

    token: str | int
    pack_id: str
    parts: list[str] = field(default_factory=list)
    length: int = 0
    round_id: Any = None
    """The agent's last round that said something; None in a chat."""
    names: dict[str, Any] = field(default_factory=dict)
    """The conversation and the turn, as the server names them."""

    @property
    def text(self) -> str:
        """All that was said."""
        return "".join(self.parts)

    def add(self, value: Mapping[str, Any]) -> None:
        """Add what a report says; text that the client is told to hide is none."""
        if value.get("hideText"):
            return
        self._say(value.get("reply"))
        rounds = value.get("editAgentRounds")
        for part in rounds if isinstance(rounds, list) else []:
            if isinstance(part, dict) and self._say(part.get("reply")):
                self.round_id = part.get("roundId")

    def _say(self, text: Any) -> bool:
        if not isinstance(text, str) or not text:
            return False
        self.parts.append(text)
        self.length += len(text)
        return True


class FollowedAnswers:
    """The answers that are under way. Turns begin on one thread, answers come on another."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str | int, Answer] = OrderedDict()

    @property
    def any(self) -> bool:
        """Tell whether one is followed."""
        return bool(self._answers)

    def follow(self, token: str | int | None, pack_id: str) -> None:
        """Gather what is reported under a token."""
        if token is not None:
            self._answers[token] = Answer(token, pack_id)
            while len(self._answers) > _MOST_FOLLOWED:
                self._answers.popitem(last=False)

    def take(self, body: bytes) -> Answer | None:
        """Read a report; gives the answer that it ends, unless it was broken off."""
        try:
            params = json.loads(body)["params"]
            token, value = params["token"], params["value"]
            answer = self._answers.get(token) if type(token) in (str, int) else None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if answer is None or not isinstance(value, dict):
            return None
        answer.add(value)
        if answer.length > _LONGEST:
            self._answers.pop(token, None)
            return None
        if value.get("kind") != "end":
            return None
        self._answers.pop(token, None)
        answer.names = {name: value[name] for name in ("conversationId", "turnId") if name in value}
        return None if value.get("cancellationReason") or value.get("error") else answer


def added_report(answer: Answer, citations: Sequence[Mapping[str, Any]]) -> bytes | None:
    """Return one more report of an answer that names the citations that don't hold; None where all do.

    A person reads `reply`; a program finds the verdict in `citations`, in the form of `X-Carrel-Citations`.
    """
    bad = [citation for citation in citations if not citation["ok"]]
    if not bad:
        return None
    shown = [f"`{_place(citation)}` ({citation.get('reason', '')[:_MOST_REASON]})" for citation in bad[:_MOST_SHOWN]]
    more = f" and {len(bad) - _MOST_SHOWN} more" if len(bad) > _MOST_SHOWN else ""
    note = f"\n\n> Carrel could not confirm {', '.join(shown)}{more}.\n"
    said = {"reply": note} if answer.round_id is None else {"editAgentRounds": [{"roundId": answer.round_id, "reply": note}]}
    places = [{"place": _place(citation), "ok": False, "reason": citation.get("reason", "")} for citation in bad[:_MOST_SHOWN]]
    verdict = {"cited": len(citations), "unsupported": len(bad), "places": places}
    value = {"kind": "report", **answer.names, **said, "citations": verdict}
    message = {"jsonrpc": "2.0", "method": "$/progress", "params": {"token": answer.token, "value": value}}
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def _place(citation: Mapping[str, Any]) -> str:
    return f"{citation['path']}:{citation['startLine']}-{citation['endLine']}"

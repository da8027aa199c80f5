"""What the proxy knows of the conversation, and what it makes of a chat turn. Never raises: a fault leaves the turn as it was."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from carrel.agent import knowledge_form
from carrel.agent.citations import cited
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.uris import path_to_uri
from carrel.frontends.copilot import turns
from carrel.frontends.copilot.frames import Frame
from carrel.frontends.copilot.sidecar import Sidecar, Unavailable
from carrel.frontends.copilot.turns import Mode, Turn, turn_of
from carrel.model.errors import place_of
from carrel.model.plain_data import as_dict, as_list, inner, read_json
from carrel.pack.chat import augment, question_of
from carrel.search.certainty import GUESSES, doubt

log = logging.getLogger(__name__)

_TOOL_SECONDS = 30.0
_DOCUMENTS = frozenset(
    {f"textDocument/did{event}" for event in ("Open", "Change", "Save", "Close")} | {"workspace/didChangeWorkspaceFolders"}
)


class ProxyOptions(Struct, frozen=True):
    """How `carrel copilot-proxy` was started. Without folders those of the editor count."""

    mode: Mode = "prepend"
    deadline_ms: int = 300
    folders: tuple[Path, ...] = ()
    top_k: int | None = None
    tool: bool = True
    citations: bool = True


_NEWEST = ""
"""Stands for the id of a conversation that has none yet."""


class ConversationLog:
    """What was asked in each of the last conversations: a turn that goes on with one holds nothing of what came before.

    The answers go to the editor in pieces and aren't kept. A conversation gets its id from the server's reply, which isn't read
    either: the first turn with an unknown id goes on with the newest conversation.
    """

    _CONVERSATIONS = 20
    _TURNS = 6

    def __init__(self) -> None:
        self._conversations: OrderedDict[str, list[dict[str, str]]] = OrderedDict()

    def before(self, turn: Turn, query: str) -> list[dict[str, str]]:
        """Return what was said before this turn, oldest first, and remember its question."""
        key = turn.conversation or _NEWEST
        said = list(turn.history)
        if turn.conversation:
            said = self._conversations.pop(key if key in self._conversations else _NEWEST, said)
        self._conversations[key] = [*said, {"role": "user", "content": query}][-self._TURNS :]
        self._conversations.move_to_end(key)
        while len(self._conversations) > self._CONVERSATIONS:
            self._conversations.popitem(last=False)
        return said


class Interceptor:
    """Answers for Carrel between client and server. Called from the forwarding threads; `Sidecar` does the work."""

    def __init__(self, options: ProxyOptions, switch: ContextSwitch, sidecar: Sidecar) -> None:
        self._options = options
        self._switch = switch
        self._sidecar = sidecar
        self._folders: tuple[str, ...] = ()
        self._active: str | None = None
        self._conversations = ConversationLog()
        self._answers = FollowedAnswers()

    @property
    def on(self) -> bool:
        """Whether anything at all is done."""
        return self._options.mode != "off" and self._switch.on

    @property
    def offers_tools(self) -> bool:
        """Whether the tool is to be registered."""
        return self._options.tool and self.on

    # --- from the client

    def initialize(self, frame: Frame) -> None:
        """Start the server on the folders of the client's first request."""
        self._folders = tuple(path_to_uri(str(path)) for path in self._options.folders) or _folders(_params(frame))
        if self.on:
            self._sidecar.start(self._folders)

    def notice(self, frame: Frame, method: str) -> None:
        """Note what happened in the editor: unsaved buffers count, and so does the file that is looked at."""
        if method in _DOCUMENTS:
            self._sidecar.forward(frame.body)
        elif method == "textDocument/didFocus":
            params = _params(frame)
            uri = inner(params.get("textDocument", params), "uri")
            self._active = uri if isinstance(uri, str) else None

    def rewrite(self, frame: Frame) -> bytes | None:
        """Put the context into a turn and give its message body; None to let it go as it was."""
        began = time.monotonic()
        if not self.on:
            return None
        turn = turn_of(frame.body)
        if turn is None:
            return None
        query = question_of(turn.whole_text)
        if not query:
            return None
        if self._switch.changed():
            self._sidecar.start(self._folders)  # it was off when the editor started
            self._sidecar.notify("workspace/didChangeConfiguration", {"settings": {"carrel": self._switch.options}})
        left = self._options.deadline_ms / 1000 - (time.monotonic() - began)
        params = self._question(turn, query)
        if history := self._conversations.before(turn, query):
            params["history"] = history
        try:
            pack = self._sidecar.ask("carrel/context", params, left)
        except Unavailable as error:
            log.info("A turn went without context: %s", error)
            return None
        if problem := pack.get("error"):
            log.warning("A turn went without the whole context: %s", problem)
        if self._options.citations and pack["hits"]:
            self._answers.follow(turn.progress_token, pack["id"])
        if self._options.mode == "references":
            references = [{"type": "file", "uri": hit["uri"], "range": hit["range"]} for hit in pack["hits"]]
            return turn.with_references(references) if references else None
        # Not `carrel/augment`: the user's words stay here, so that nothing on the way can change even half an emoji of them.
        text = augment(turn.text, pack["text"])
        return turn.with_text(text) if text != turn.text else None

    def _question(self, turn: Turn, query: str) -> dict[str, Any]:
        params: dict[str, Any] = {"query": query, "deadlineMs": max(int(0.9 * self._options.deadline_ms), 1)}
        if not self._options.folders and turn.folders:
            for uri in turn.folders:
                self._sidecar.ensure_folder(uri)
            params["folders"] = list(turn.folders)
        if self._options.top_k:
            params["topK"] = self._options.top_k
        if self._active:
            params["active"] = {"uri": self._active}
        if turn.model:
            params["model"] = turn.model
        return params

    # --- from the server

    def before_progress(self, frame: Frame) -> bytes | None:
        """Return the message body to add before one of an answer's end: what of its citations doesn't hold. None for nothing."""
        if not self._answers.any:
            return None
        ended = self._answers.take(frame.body)
        return self._checked(ended) if ended else None

    def _checked(self, answer: Answer) -> bytes | None:
        if not cited(answer.text):
            return None
        params = {"packId": answer.pack_id, "text": answer.text, "alsoReadable": True}
        try:  # the end, and what comes behind it, is held back no longer than a question is
            # Every message to the editor waits meanwhile, so no server is started for it.
            reply = self._sidecar.ask("carrel/citations", params, self._options.deadline_ms / 1000, may_start=False)
            citations = reply["citations"]
        except Unavailable as error:
            log.info("The citations of an answer were not checked: %s", error)
            return None
        return added_report(answer, citations)

    def tool_answer(self, request: dict[str, Any]) -> bytes:
        """Do what the server's agent asked for. Blocks; runs on a thread of its own."""
        if not turns.needs_search(request):
            return turns.consent(request)
        try:
            query, limit = turns.question(request)
        except ValueError as error:
            return turns.result(request, str(error), ok=False)
        answer = self._documents if request["params"]["name"] == turns.KNOWLEDGE else self._code
        try:
            return turns.result(request, answer(query, limit), ok=True)
        except Unavailable as error:
            return turns.result(request, f"Carrel can't answer now: {error}.", ok=False)
        except Exception as error:  # the agent would wait for ever
            log.error("A tool gave nothing: %s at %s", type(error).__name__, place_of(error))  # noqa: TRY400 - a trace could quote it
            return turns.result(request, "Something went wrong inside Carrel; its log says more.", ok=False)

    def _code(self, query: str, limit: int) -> str:
        params = {"query": query, "topK": limit, "trigger": "explicit", "format": "tool"}
        pack = self._sidecar.ask("carrel/context", params, _TOOL_SECONDS)
        problem = pack.get("error")
        if problem and not pack["text"]:
            raise Unavailable(problem)
        text = pack["text"] or "No relevant code found."
        return f"({problem})\n\n{text}" if problem else text

    def _documents(self, query: str, limit: int) -> str:
        params = {"query": query, "limit": limit, "filters": {"languages": knowledge_form.LANGUAGES}}
        result = self._sidecar.ask("carrel/search", params, _TOOL_SECONDS)
        unsure = doubt(result["confidence"])
        hits = result["hits"][:GUESSES] if unsure else result["hits"]
        notes = ((hit, knowledge_form.note_of(hit.get("symbol", ""), hit.get("note", ""))) for hit in hits)
        text = knowledge_form.text_of((hit["path"], hit["startLine"], hit["endLine"], hit["text"], more) for hit, more in notes)
        problem = result["plan"].get("problem") if hits or result.get("missingFolders") else None
        problem = " ".join(filter(None, (problem, unsure if hits else None)))
        return f"({problem})\n\n{text}" if problem else text

    def run_tool(self, request: dict[str, Any], answer: Any) -> None:
        """Answer on a thread; `answer` takes the message body."""
        threading.Thread(target=lambda: answer(self.tool_answer(request)), daemon=True, name="carrel-tool").start()


def _params(frame: Frame) -> dict[str, Any]:
    return as_dict(inner(read_json(frame.body), "params"))


def _folders(params: dict[str, Any]) -> tuple[str, ...]:
    """Return the folders of an `initialize` request: the list, else the older roots."""
    uris = [item.get("uri") for item in as_list(params.get("workspaceFolders")) if isinstance(item, dict)]
    if not uris:
        path = params.get("rootPath")
        uris = [params.get("rootUri") or (path_to_uri(path) if isinstance(path, str) and path else None)]
    return tuple(uri for uri in uris if isinstance(uri, str))


_MOST_FOLLOWED = 20
_LONGEST = 200_000
"""Characters of an answer that is followed; a longer one is not checked."""
_MOST_SHOWN = 5
_MOST_REASON = 120


class Answer(Struct):
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
        for part in as_list(value.get("editAgentRounds")):
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
        params = inner(read_json(body), "params")
        token, value = inner(params, "token"), inner(params, "value")
        answer = self._answers.get(token) if type(token) in (str, int) else None
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

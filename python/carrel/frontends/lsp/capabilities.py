"""The answer to `initialize`. It depends on nothing, so it is given before the server proper is even imported."""

from __future__ import annotations

from typing import Any

from carrel.frontends.lsp.messages.methods import CLIENT_REQUESTS, NOTIFICATIONS, REQUESTS
from carrel.model.installation import carrel_version

PROTOCOL = 1
"""Raised when `carrel/*` changes in a way that older editors can't read."""


def command_name(method: str) -> str:
    """Spell a method as a command: `carrel/search` is `carrel.search`."""
    return method.replace("/", ".")


COMMANDS = {command_name(method): method for method in REQUESTS}


def own_settings(sent: object) -> dict[str, Any] | None:
    """Find Carrel's settings in what a client sent: a section of that name, or all of it; None if neither."""
    section = sent.get("carrel", sent) if isinstance(sent, dict) else None
    return section if isinstance(section, dict) else None


def initialize_result() -> dict[str, Any]:
    """Return what the server can do. UTF-16 positions: the one encoding that every client must support."""
    return {
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
            "executeCommandProvider": {"commands": list(COMMANDS), "workDoneProgress": True},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            "experimental": {
                "carrel": {
                    "protocol": PROTOCOL,
                    "requests": list(REQUESTS),
                    "notifications": list(NOTIFICATIONS),
                    "clientRequests": list(CLIENT_REQUESTS),
                }
            },
        },
        "serverInfo": {"name": "carrel", "version": carrel_version()},
    }

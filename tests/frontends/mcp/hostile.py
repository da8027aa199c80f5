"""What no client may get away with, whichever SDK it uses."""

from __future__ import annotations

from typing import Any

from carrel.agent.search_tool import MAX_TEXT

HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("search_code", {}),
    ("search_code", {"query": ""}),
    ("search_code", {"query": 7}),
    ("search_code", {"query": "x\0y"}),
    ("search_code", {"query": "x" * (MAX_TEXT + 1)}),
    ("search_code", {"query": "x", "limit": 10**9}),
    ("search_code", {"query": "x", "limit": -1}),
    ("search_code", {"query": "x", "limit": True}),
    ("search_code", {"query": "x", "pathGlob": ["a\0"]}),
    ("search_code", {"query": "x", "pathGlob": ["*"] * 51}),
    ("search_code", {"query": "x", "folder": "/etc"}),
    ("search_code", {"query": ["x"]}),
    ("search_code", {"query": None}),
    ("search_code", {"query": "x", "limit": "3"}),
    ("search_code", {"query": "x", "limit": 2.5}),
    ("search_code", {"query": "x", "pathGlob": "*.py"}),
    ("search_code", {"query": "x", "sources": ["web"]}),
    ("search_code", {"query": "x", "symbol": "s" * 1_001}),
    ("search_knowledge_base", {"query": "x" * (MAX_TEXT + 1)}),
    ("search_knowledge_base", {"query": "x", "limit": -1}),
    ("get_context", {"query": "x", "maxTokens": -5}),
    ("get_context", {"query": "x", "files": [7]}),
    ("get_context", {"query": "x", "maxTokens": 10**12}),
    ("get_context", {"query": "x", "format": "html"}),
    ("index_status", {"folder": "../.."}),
]
BAD_URIS = [
    "file:///etc/passwd",
    "carrel://code/shop/.env",
    "carrel://code/shop/generated/out.py",
    "carrel://code/shop/..%2f..%2fetc/passwd",
    "carrel://code/shop//etc/passwd",
    "carrel://code/shop/src/auth.py%00",
    "carrel://code/shop/src/auth.py?lines=9-1",
    "carrel://code/shop/leak.py",
    "carrel://code/other/src/auth.py",
    "carrel://code/",
    "carrel://data/shop/src/auth.py",
    "carrel://code/shop/src/auth.py?lines=0-3",
    "carrel://code/shop/src/auth.py?lines=1-99999999999",
    "carrel://code/shop/src/auth.py?lines=1-2&lines=3-4",
    "carrel://code/shop/src/%1b%5b2Jauth.py",
    "carrel://code/shop/src",
    "https://example.org/",
]

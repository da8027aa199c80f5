"""A server with a planted fault, which torture must find: once it holds something, it overlooks the files of one folder."""

from __future__ import annotations

from typing import Any

from carrel.frontends.lsp import serve
from carrel.index import indexer

_plan = indexer._plan


def _short_sighted(store: Any, scope: Any, cancel: Any) -> Any:
    if not store.snapshot().files:
        return _plan(store, scope, cancel)
    seen = [f"part{number}" for number in range(1, 8)] if isinstance(scope, str) else scope
    return _plan(store, [path for path in seen if not path.startswith("part0")], cancel)


if __name__ == "__main__":
    indexer._plan = _short_sighted
    serve.main()

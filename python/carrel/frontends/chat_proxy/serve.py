"""Run the chat proxy until it is stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import httpx
import uvicorn

from carrel.frontends.chat_proxy.app import ChatProxy
from carrel.frontends.chat_proxy.context_injector import ContextInjector, InjectionOptions
from carrel.frontends.chat_proxy.upstream import Upstream, UpstreamModels, connections_to
from carrel.frontends.common.context_switch import ContextSwitch
from carrel.frontends.common.http_guard import listen

_CONNECT_SECONDS = 10.0


async def serve(
    port: int, upstream: Upstream, options: InjectionOptions, started: Callable[[int, tuple[Path, ...]], None]
) -> None:
    """Listen on the port and serve; `started` gets it once connections are taken, and the folders without an index."""
    # uvicorn and httpx would log paths and failures with their traces; what is worth saying is said by us, without contents.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with listen(port) as listening:
        # A model may think for minutes: only connecting has a limit.
        timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
        async with httpx.AsyncClient(timeout=timeout, transport=connections_to(upstream.url), trust_env=False) as client:
            models = UpstreamModels(client)
            injector = ContextInjector(options, ContextSwitch(), models.window)
            app = ChatProxy(upstream, injector, client, models, checks=options.checks)
            config = uvicorn.Config(
                app,
                http="h11",  # another parser, where one is installed, takes other targets
                ws="none",
                proxy_headers=False,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=3,
            )
            started(listening.getsockname()[1], injector.unindexed())
            warming = asyncio.create_task(injector.warm_up())
            try:
                await uvicorn.Server(config).serve(sockets=[listening])
            finally:
                warming.cancel()
                try:
                    await asyncio.gather(warming, models.close(), return_exceptions=True)
                finally:  # a Ctrl-C that uvicorn passes on cancels the line above
                    await injector.close()

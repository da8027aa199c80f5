"""The listening sockets of the HTTP servers."""

from __future__ import annotations

import os
import socket


def listen(port: int) -> socket.socket:
    """Listen on this machine's 127.0.0.1; port 0 is any that is free. Raises `OSError`.

    It names its protocol, which `socket.create_server` doesn't: asyncio switches Nagle's algorithm off only then. With it on,
    a second answer over a kept connection waits 40 ms for the client's delayed acknowledgement.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows the option would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(256)
    except OSError:
        listener.close()
        raise
    return listener

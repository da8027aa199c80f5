"""A server on this machine that accepts connections and says nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def silent_server() -> Iterator[tuple[int, list[socket.socket]]]:
    """Give its port, and the connections that it has accepted so far."""
    listening = socket.create_server(("127.0.0.1", 0))
    accepted: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                accepted.append(listening.accept()[0])

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], accepted
    finally:
        with contextlib.suppress(OSError):  # wakes who waits in `accept`
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in accepted:
            connection.close()
        thread.join(5)

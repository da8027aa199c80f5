"""What every implementation of a port must do: subclass a suite, say how an instance is made, and run pytest.

    class TestMyEmbedder(EmbedderContract):
        def make(self):
            return MyEmbedder(...)

Needs nothing but pytest and Carrel, so that this folder can be copied. `broken` and `stuck` are for implementations that ask a
service: instances whose service fails, and never answers. Each test makes its own instance and uses it on one event loop.
"""

from __future__ import annotations

from tests.contract.suites.common import run
from tests.contract.suites.models import ChatModelContract, EmbedderContract, RerankerContract, TokenizerContract
from tests.contract.suites.stores import VectorStoreContract
from tests.contract.suites.tools import AuditLogContract, ToolContract

__all__ = [
    "AuditLogContract",
    "ChatModelContract",
    "EmbedderContract",
    "RerankerContract",
    "TokenizerContract",
    "ToolContract",
    "VectorStoreContract",
    "run",
]

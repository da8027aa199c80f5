"""Whether what takes long is tested too: in `make test-long`, which sets CARREL_TEST_LONG."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("CARREL_TEST_LONG"))

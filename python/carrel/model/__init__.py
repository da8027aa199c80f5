"""Values, ports and errors that every layer shares; no state. Only `native` imports the compiled core."""

import datetime  # noqa: F401 - before msgspec imports it, which would lose a Ctrl-C in it and crash later

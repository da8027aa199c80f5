"""Use cases over plain data; knows only `core`."""

"""Disk and databases behind the ports of `core`."""

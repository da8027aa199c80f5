"""Rights of callers, permissions for what leaves the machine, and the record of both."""

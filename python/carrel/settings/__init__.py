"""Settings: read from files and clients, checked, written, documented."""

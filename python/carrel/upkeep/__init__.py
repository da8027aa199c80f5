"""Keeping an index current: runs, unsaved buffers, watching, switching models."""

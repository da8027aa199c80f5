"""Pipelines: a few calls of allowed tools in a row, validated whole before the first one, run without a shell."""

"""A few calls of allowed tools in a row, validated whole before the first, run without a shell."""

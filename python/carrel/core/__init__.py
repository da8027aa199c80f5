"""Values, ports and errors that every layer shares; the only part of Carrel that knows the Rust module."""

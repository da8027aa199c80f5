"""Settings in, the parts of a process out: with `selftest` the only package that names providers and stores."""

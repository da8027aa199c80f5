"""Settings in, the parts of a process out: the only package that names providers and stores."""

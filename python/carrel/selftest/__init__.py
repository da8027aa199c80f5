"""The ten checks of `carrel selftest`."""

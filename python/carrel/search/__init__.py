"""A parsed question in, hits in one order out, with the signals behind the order."""

"""Who may do what, what may leave the machine, and the record of both."""

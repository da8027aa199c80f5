"""Services of the operating system: locks, atomic files, processes, threads, temporary folders."""

"""Runs: what an agent may use, charged in one atomic step with what it did.

The lock on a run's node is the one place where its budget is decided. Whoever needs several locks takes
them from the root down: the client, the parent, the run, what is below it.
"""

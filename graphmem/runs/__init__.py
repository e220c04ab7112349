"""Runs: the budgets of agents, and the operations that are charged to them in one atomic step.

The lock on a run's node protects its budget. A transaction that needs several locks takes them from the root
down: the client, the parent, the run, its descendants.
"""

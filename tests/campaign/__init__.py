"""The fault campaign, `make test-faults`: a small study survives what breaks real clusters.

One round runs the study on a Ray cluster of two nodes with a Prefect server on PostgreSQL, injects
faults at random moments, and starts the driver again until it ends well. Then the store must be
that of an undisturbed run. `TOLSTOY_INJECTIONS` and `TOLSTOY_SEED` say how many, and which ones.
"""

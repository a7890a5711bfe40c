"""SciCumulus-RL: scientific workflows under MPI, with schedule plans and queryable provenance."""

__version__ = "0.1.0"

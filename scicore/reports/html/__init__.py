"""A run's report: one HTML file without scripts, that needs nothing else."""

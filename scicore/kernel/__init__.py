"""Evaluation of schedules, fast: arrays in, arrays out, compiled by numba where it pays."""

"""Runs and plans as Python objects, for notebooks and scripts; `scicore` shows them at its top.

What starts or plans something goes through the command line in a process of its own: a notebook
keeps its signals and its memory, and both ways do the same. What reads, reads provenance.
"""

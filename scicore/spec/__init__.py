"""Text to Workflow. Reads the specification and the datasets that it names, and nothing else."""

from scicore.spec.scicumulus_xml import Loaded, load_workflow

__all__ = ["Loaded", "load_workflow"]

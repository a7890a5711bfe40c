"""Parameters of planners; what all algorithms share is in model/parameters.py."""

from scicore.model.parameters import (
    Limits,
    Parameters,
    as_texts,
    limits_of,
    read_settings,
    setting,
)

__all__ = ["Limits", "Parameters", "as_texts", "limits_of", "read_settings", "setting"]

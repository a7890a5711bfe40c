"""SciCumulus's algebra: tuples become activations, activations give tuples. Pure."""

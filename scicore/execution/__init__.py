"""The pure core: events in, instructions out. The MPI engine and the simulator only drive it."""

"""The MPI shell around the core: rank 0 is the master, every other rank is one VM's slave."""

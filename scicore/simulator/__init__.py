"""The virtual-time shell of the execution core: a plan is run in no time, with what may go wrong.

Pure: chance comes from the generator that is handed in.
"""

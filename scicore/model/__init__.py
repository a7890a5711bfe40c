"""The frozen nouns of the system. No I/O, no clock, nothing of ours is imported here."""

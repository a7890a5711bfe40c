"""A run in other systems' words: W3C PROV, RO-Crate, WfFormat, CSV and Parquet.

`source` reads provenance in one transaction, one file per format turns what it reads into a
document. Nothing here writes to the database; packages of the extra `exports` are imported only
by the format that needs them.
"""

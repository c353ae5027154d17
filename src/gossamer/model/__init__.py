"""The vocabulary that every room shares, in three packages that differ in what they import.

`values` imports the standard library and msgspec, `arrays` imports numpy, `tables` imports pyarrow.
This module re-exports nothing, so that a live node never loads `arrays` and `tables`.
"""

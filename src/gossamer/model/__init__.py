"""The vocabulary every room shares, in three parts by what they need.

`values` needs the standard library and msgspec, `arrays` needs numpy, `tables` needs pyarrow.
Nothing is re-exported here, so that a live node never loads the last two.
"""

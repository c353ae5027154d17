"""Exhibits: the published tables and figures, the runs that reproduce them, and the comparison of both."""

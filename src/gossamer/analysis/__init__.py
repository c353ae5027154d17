"""Turns tables into figures, exhibits of the papers, and the report of a study."""

"""Closed forms: results without simulation."""

"""Searches whose results stand in the exhibits: each is a script that can be run again."""

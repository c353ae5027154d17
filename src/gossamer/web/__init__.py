"""The dashboard. Nothing has landed here yet."""

"""The dashboard, which is not implemented yet."""

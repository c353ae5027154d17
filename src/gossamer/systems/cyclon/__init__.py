"""Cyclon as a system of its own: random views, blind to interests."""

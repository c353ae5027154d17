"""Interests, overlays, churn and degree distributions as numpy arrays, for kernels, planners and measures."""

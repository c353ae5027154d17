"""Interests, overlays and churn as numpy arrays: what kernels, planners and measures work on."""

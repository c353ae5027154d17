"""Generators of workloads, social graphs and churn, each from a few numbers and a seed."""

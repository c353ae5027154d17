"""Made-up workloads: who wants what, and who comes and goes, from a few numbers and a seed."""

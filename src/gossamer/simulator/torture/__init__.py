"""Swarm testing: networks with drawn systems, workloads and faults in virtual time, and a judge of every message."""

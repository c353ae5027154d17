"""Membership: the nodes that a node knows, and their interests."""

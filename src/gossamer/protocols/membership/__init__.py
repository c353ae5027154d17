"""Which other nodes a node knows, and what they follow."""

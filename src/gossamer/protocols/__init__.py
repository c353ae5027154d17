"""The building blocks of a node, as machines without I/O: contract, membership, dissemination and delivery.

No file here reads a clock, draws unkeyed randomness, or uses a socket, a file or numpy. Start with `contract/parts.py`
for the interfaces, `contract/node.py` for how parts form one machine, and `membership/cyclon.py` for a complete
protocol.
"""

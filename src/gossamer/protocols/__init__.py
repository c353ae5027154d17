"""How one node decides: sans-I/O machines, one file per published protocol.

Nothing here reads a clock, draws unkeyed randomness, or touches a socket, a file or numpy. Start with
`interface.py` for the contract, `node.py` for how parts stack into one machine, and `cyclon.py` for a
protocol from end to end.
"""

"""A network of node processes on one machine, with traffic that is counted by message: `gossamer up` runs it.

`member` is one process, `network` starts and controls all of them, `count` computes from their logs what arrived.
"""

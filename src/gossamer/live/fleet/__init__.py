"""A whole network of node processes on this machine, with traffic that is counted by id: what `gossamer up` runs.

`member` is one process, `network` starts and asks them all, `count` says from their logs what arrived.
"""

"""The machines' decisions for a whole population at once, and the measures: compiled with numba.

Kernels know arrays and numbers; they never import a protocol, so that agreeing with one means something.
They have no defaults: `simulator/systems.py` turns a machine's parameters into a kernel's numbers.
"""

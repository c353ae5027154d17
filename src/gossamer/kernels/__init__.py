"""Building blocks compiled with numba: draws, sampling, Cyclon for a whole population, measures, planning.

Kernels work on arrays and numbers and never import a protocol, so that a lockstep test compares two independent
implementations. They have no default parameters: a system's population turns its parameters into the kernel's numbers.
"""

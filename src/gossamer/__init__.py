"""Gossamer: brokerless publish/subscribe on topic-connected overlays.

One vocabulary, three jobs: study a workload, plan an overlay for it, run it live. Importing this
package loads the standard library and nothing heavy; each job brings its own extra
(`gossamer[sim]`, `gossamer[spark]`, `gossamer[report]`).
"""

from gossamer.model.values.errors import GossamerError, InputError

__version__ = "0.1.0"

__all__ = ["GossamerError", "InputError", "__version__"]

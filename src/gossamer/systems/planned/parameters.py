"""Parameters of systems that are planned centrally: their nodes run no protocol to find their links."""

from typing import Annotated

from msgspec import Meta, Struct


class RingParameters(Struct, frozen=True, kw_only=True):
    """A ring has no parameters."""


class GmParameters(Struct, frozen=True, kw_only=True):
    """GM has no parameters."""


class LowodaParameters(Struct, frozen=True, kw_only=True):
    """LowODA weighs a link's contribution against the maximum degree."""

    rho: Annotated[
        float,
        Meta(ge=1, description="Chosen: 3, as OMen. How many times better a link must be to raise the maximum degree"),
    ] = 3.0


class MinmaxodaParameters(Struct, frozen=True, kw_only=True):
    """MinMaxODA has no parameters."""


class MeshParameters(Struct, frozen=True, kw_only=True):
    """A random mesh for each topic."""

    links: Annotated[
        int, Meta(ge=1, le=1000, description="Chosen: 6, gossipsub's D. Links a node keeps in each of its topics")
    ] = 6

"""Parameters of the unstructured overlay below gossip."""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer.model.values.time import SECOND_US


class UnstructuredParameters(Struct, frozen=True, kw_only=True):
    """The degree distribution of nodes, and how links are kept."""

    degree: Annotated[
        str,
        Meta(
            description="Paper: poisson:5 (V-A). The degree distribution: poisson:MEAN, regular:DEGREE, power:EXPONENT[:CUTOFF], "
            "scale-free:A:B or given:DEGREE=SHARE,..."
        ),
    ] = "poisson:5"
    redial_us: Annotated[
        int,
        Meta(ge=1, description="Chosen: 5 s. Microseconds after a failure until a given neighbour is dialled again"),
    ] = 5 * SECOND_US
    degree_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Chosen: 4,096, ten times the paper's largest hub. Connections from further peers are closed",
        ),
    ] = 4_096

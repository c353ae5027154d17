"""The parameters of OMen with a global view."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class OmenGParameters(Struct, frozen=True, kw_only=True):
    """Sections and algorithms are those of Chen, Vitenberg, Jacobsen (2016)."""

    coverage: Annotated[
        int, Meta(ge=1, le=200, description="Paper: 5 (4.2). Disjoint covers in a backup set (lambda); 0 is taken as 1")
    ] = 5
    backups: Annotated[
        Literal["primal-dual", "greedy"],
        Meta(description="Paper: primal-dual (6.3). How a backup set is chosen"),
    ] = "primal-dual"
    counted: Annotated[
        Literal["terminals", "inside"],
        Meta(
            description="Chosen: terminals. Links that count in a repair: those with an end in the shadow set, joining the "
            "neighbours of the departed node; or those inside it, joining all, as printed (4.1)"
        ),
    ] = "terminals"
    rho: Annotated[
        float,
        Meta(ge=1, description="Chosen: 3. How many times better a link must be to raise the maximum degree"),
    ] = 3.0
    drops: Annotated[
        bool,
        Meta(
            description="Chosen: true. Whether a repair also drops links whose ends have common neighbours on all their topics"
        ),
    ] = True

"""Every exhibit there is, by name."""

from difflib import get_close_matches

from gossamer.analysis.exhibits.harness import Exhibit
from gossamer.model.values.errors import InputError
from gossamer.systems.gossip import exhibits as gossip
from gossamer.systems.planned import exhibits as planners
from gossamer.systems.spidercast import exhibits as spidercast
from gossamer.systems.stan import exhibits as stan

CATALOGUE: dict[str, Exhibit] = {
    exhibit.name: exhibit for exhibit in (*spidercast.EXHIBITS, *stan.EXHIBITS, *gossip.EXHIBITS, *planners.EXHIBITS)
}


def find_exhibits(name: str) -> list[Exhibit]:
    """One exhibit by its name, all of a paper, or `all`."""
    if name == "all":
        return list(CATALOGUE.values())
    found = [exhibit for exhibit in CATALOGUE.values() if name in (exhibit.name, exhibit.name.partition("/")[0])]
    if not found:
        close = get_close_matches(name, list(CATALOGUE), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"there is no exhibit {name!r}; `gossamer reproduce list` names them{hint}")
    return found

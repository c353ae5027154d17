"""The words by which the headers of public data sets name a column."""

import re
from collections.abc import Iterable

_WORDS = {
    "source": "source src from fromnode fromnodeid sourceid fromid follower followerid user1 node1 id1 person1",
    "target": "target dst dest destination to tonode tonodeid targetid toid followee followeeid friend friendid user2 "
    "node2 id2 person2",
    "weight": "weight count plays value rating",
    "time": "time timestamp date at atus",
    "user": "user userid username node nodeid nodename service serviceid servicename application app component client "
    "subscriber member memberid uid id",
    "group": "group groupid groupname topic topicid topicname subject feed stream genre genres artist artistid artistname "
    "tag tagid item itemid community communityid channel",
    "role": "role mode access",
    "zone": "zone zoneid region rack availabilityzone datacenter datacentre site",
    "address": "address host hostname endpoint ip",
    "machine": "machine machineid node nodeid host",
    "event": "event eventtype type",
    "platform": "platform platformid",
    "cpus": "cpus cpu",
    "memory": "memory ram",
}

# The values of a column of roles, with the numbers of `model.values.ids.Role`. An empty value is the first.
ROLE_WORDS = {
    **dict.fromkeys(("follows", "follow", "follower", "subscribes", "subscribe", "subscriber", "sub", "1"), 1),
    **dict.fromkeys(("consumes", "consumer", "reads", "reader", "read"), 1),
    **dict.fromkeys(("publishes", "publish", "publisher", "pub", "2"), 2),
    **dict.fromkeys(("produces", "producer", "writes", "writer", "write"), 2),
    **dict.fromkeys(("both", "pubsub", "3"), 3),
}


def plain_word(field: str) -> str:
    """A field of a header in lower case, without signs: userID and user_id are one word."""
    return re.sub(r"[\W_]+", "", field).lower()


def words_of(column: str) -> tuple[str, ...]:
    """The words for a column, the clearest first."""
    return tuple(_WORDS.get(column, column).split())


def kind_words(columns: Iterable[str]) -> frozenset[str]:
    """The words for any of these columns."""
    return frozenset().union(*(words_of(column) for column in columns))

"""Bounds on the links of peers that are no neighbours."""

import resource

from gossamer.live.transport.strangers import affordable_links


def test_strangers_get_at_most_half_of_the_descriptors_of_the_process(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100, 4096))
    assert affordable_links(512) == 50
    assert affordable_links(20) == 20


def test_without_a_limit_on_descriptors_strangers_get_the_configured_number_of_links(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert affordable_links(512) == 512

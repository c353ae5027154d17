"""The fleet benchmark runs a small fleet of our own nodes and finds every delivery."""

from bench import fleet


def test_a_small_fleet_is_measured_and_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(fleet, "WARM_UP_SECONDS", 0.5)
    monkeypatch.setattr(fleet, "SPARE_SECONDS", 0.5)
    monkeypatch.setattr(fleet, "QUIET_SECONDS", 1.0)
    found = fleet.measure("gossamer", 4, 50, 1.0)
    steady = found.count.phases[2]
    assert (steady.name, found.count.missing, found.count.twice, found.count.unknown) == ("steady", 0, 0, 0)
    assert steady.published > 0
    assert steady.expected >= steady.published
    # Each node has a connection to another one.
    assert all(count >= 1 for count in found.connections)
    assert found.after.loopback_bytes - found.before.loopback_bytes > steady.expected * fleet.PAYLOAD_BYTES
    assert found.after.cpu_seconds >= found.before.cpu_seconds
    assert all(resident >= proportional > 0 for resident, proportional in found.memory)


def test_a_fleet_whose_processes_end_is_reported_as_not_finished(capfd):
    assert fleet._figures("no-such-library", 2, 10, 1.0) == ["not finished: a process ended"]
    assert "no-such-library" in capfd.readouterr().err

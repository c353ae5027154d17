"""The dashboard: a network in the browser, live or recorded.

A `Scene` is a network at one moment. Telemetry records and the status of live nodes change it; `frames` turns it into what the
page draws. `server` answers the page's requests, `controls` changes a network that this machine runs.
"""

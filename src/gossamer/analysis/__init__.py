"""Tables to figures, paper exhibits and the report. Nothing has landed here yet."""

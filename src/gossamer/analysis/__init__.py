"""Tables to figures, paper exhibits and the report. Here so far: the exhibits."""

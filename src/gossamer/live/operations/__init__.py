"""For operators: settings files, status, logs, signals, and the audit of records."""

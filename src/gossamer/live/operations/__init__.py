"""What an operator uses: settings, status, logs, audit."""

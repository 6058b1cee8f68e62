"""Speed panel: measurements, their records, and the payloads of both."""

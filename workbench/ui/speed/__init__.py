"""Speed panel: runs measurements, stores their records, and builds the payloads of both."""

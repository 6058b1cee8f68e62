"""The canvas: payloads of its nodes and edges, and its actions."""

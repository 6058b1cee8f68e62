"""Contract between Python and TypeScript: fields, payloads and actions of all components."""

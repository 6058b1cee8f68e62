"""What components show and accept: fields, payloads and actions, shared with TypeScript."""

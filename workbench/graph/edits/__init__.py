"""Pure edits: functions from a graph to a new one."""

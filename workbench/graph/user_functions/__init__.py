"""Extract the source code of user functions, and decide whether it is trusted."""

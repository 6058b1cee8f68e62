"""System faults in every host: kernel and app survive with the graph, and the user is notified."""

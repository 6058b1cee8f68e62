"""Images of Python objects, which one process serves to the others through shared memory."""

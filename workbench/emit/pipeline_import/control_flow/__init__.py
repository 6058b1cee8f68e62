"""Convert conditionals and loops of a traced pipeline to nodes with bodies."""

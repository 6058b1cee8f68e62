"""What is said of a batch: values, labels, statistics, bodies that ran, differences."""

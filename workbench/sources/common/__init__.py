"""What every kind of source shares: data sets, their opening, their facts, labels and tables."""

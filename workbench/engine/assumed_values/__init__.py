"""What an imported script needs and nobody gives: arguments, missing modules, unknown values."""

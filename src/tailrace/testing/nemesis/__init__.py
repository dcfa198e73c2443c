"""The nemesis: everything that can go wrong, at random, from a seed."""

"""Find models by name: on the hub, behind an address, and in the stores of other programs."""

"""Write reports as text: one package for each kind of report, one module for each format."""

"""Run the command line as `python -m tokverify`."""

from tokverify.cli import main

if __name__ == "__main__":
    main(prog_name="tokverify")

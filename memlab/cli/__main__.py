"""`python -m memlab.cli`, where the script `memlab` is not on the path."""

from memlab.cli import main

if __name__ == "__main__":
    main(prog_name="memlab")

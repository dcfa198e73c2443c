"""`python -m tailrace`: the same as the command `tailrace`."""

from tailrace.cli.main import main

if __name__ == "__main__":
    main()

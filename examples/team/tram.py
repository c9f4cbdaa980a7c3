"""Prints the receipt of a ride: python3 tram.py ZONES AGE"""

import sys

from fares import fare
from receipt import receipt


def main(words):
    """Prints the receipt and returns the exit code."""
    zones, age = map(int, words)
    print(receipt(fare(zones, age)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

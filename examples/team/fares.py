"""Fares of the tram, in cents."""

BASE = 180
NEXT_ZONE = 70
CHILD_UNDER = 14


def fare(zones, age):
    """Returns the price of a ride. The base fare covers the first zone; children pay half."""
    if zones < 1:
        raise ValueError("a ride goes through at least one zone")
    full = BASE + zones * NEXT_ZONE
    return full // 2 if age < CHILD_UNDER else full

"""Receipts of rides."""


def euros(cents):
    """Returns an amount as it is printed."""
    return f"{cents // 100}.{cents % 100:02d} EUR"


def receipt(cents):
    """Returns the receipt of one ride."""
    return f"Tram ride: {euros(cents)}"

import unittest

from fares import fare


class FareTest(unittest.TestCase):
    def test_a_ride_through_no_zone_is_refused(self):
        with self.assertRaises(ValueError):
            fare(0, 30)

    def test_a_child_pays_half(self):
        self.assertEqual(fare(3, 13) * 2, fare(3, 14))

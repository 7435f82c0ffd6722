"""Budgets that are parts of others."""

from tokverify.repair.budget import Budget


def test_what_a_part_spends_is_spent_of_the_whole():
    whole = Budget(100)
    part = whole.part(60)
    part.spend(70)
    assert part.is_spent
    assert whole.left == 30
    assert whole.part(60).left == 30

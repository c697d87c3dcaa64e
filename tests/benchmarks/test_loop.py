"""The contestants of the comparison, without training."""

import pytest

from benchmarks import loop


@pytest.mark.timeout(60)
def test_a_contestant_that_dies_ends_the_comparison():
    with pytest.raises(RuntimeError, match="the process of nobody has died"):
        loop.Contestant("nobody")

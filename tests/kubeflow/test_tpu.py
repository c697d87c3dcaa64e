import pytest

from kubeflow import tpu

# Machine type, chips and labels as Google documents them for single-host node pools.
DOCUMENTED = {
    "v4:2x2x1": ("tpu-v4-podslice", "ct4p-hightpu-4t", 4),
    "v5e:1x1": ("tpu-v5-lite-podslice", "ct5lp-hightpu-1t", 1),
    "v5e:2x2": ("tpu-v5-lite-podslice", "ct5lp-hightpu-4t", 4),
    "v5e:2x4": ("tpu-v5-lite-podslice", "ct5lp-hightpu-8t", 8),
    "v5p:2x2x1": ("tpu-v5p-slice", "ct5p-hightpu-4t", 4),
    "v6e:1x1": ("tpu-v6e-slice", "ct6e-standard-1t", 1),
    "v6e:2x2": ("tpu-v6e-slice", "ct6e-standard-4t", 4),
    "v6e:2x4": ("tpu-v6e-slice", "ct6e-standard-8t", 8),
    "v7x:1x1x1": ("tpu7x", "tpu7x-standard-1t", 1),
    "v7x:2x2x1": ("tpu7x", "tpu7x-standard-4t", 4),
}


def test_slices_are_the_documented_ones():
    assert {
        name: (entry.accelerator, entry.machine, entry.chips) for name, entry in tpu.SLICES.items()
    } == DOCUMENTED


@pytest.mark.parametrize("name", DOCUMENTED)
def test_chips_are_the_product_of_the_topology(name):
    entry = tpu.parse(name)
    sides = [int(side) for side in entry.topology.split("x")]
    product = 1
    for side in sides:
        product *= side
    assert entry.chips == product


def test_parse_ignores_case_and_blanks():
    assert tpu.parse(" V5E:2X2 ").name == "v5e:2x2"


@pytest.mark.parametrize("text", ["v5e:4x4", "v4:2x2x2", "v6e:16x16", "v5p:4x4x4"])
def test_slices_of_several_hosts_are_refused_with_the_reason_and_the_valid_ones(text):
    with pytest.raises(
        tpu.SliceError, match=r"more than one host.*one pod.*choose one of"
    ) as error:
        tpu.parse(text)
    generation = text.split(":")[0]
    for name in DOCUMENTED:
        assert (name in str(error.value)) == name.startswith(generation + ":")


@pytest.mark.parametrize(
    "text", ["v5e:3x1", "v5e:2x1", "v4:2x2", "v7x:2x2", "v6e:0x0", "v5e:axb", "v5e"]
)
def test_other_topologies_are_refused_with_the_valid_ones(text):
    with pytest.raises(tpu.SliceError, match="no slice that a single host"):
        tpu.parse(text)


@pytest.mark.parametrize("text", ["", "2x2", "v3:2x2", "v5:2x2", "gpu:1"])
def test_what_is_no_slice_lists_them_all(text):
    with pytest.raises(tpu.SliceError, match="write GENERATION:TOPOLOGY") as error:
        tpu.parse(text)
    assert all(name in str(error.value) for name in DOCUMENTED)


def test_vertex_takes_v5e_alone():
    assert tpu.parse_for_vertex("v5e:2x2").machine == "ct5lp-hightpu-4t"
    with pytest.raises(tpu.SliceError, match=r"'v6e:2x2'.*v5e:1x1, v5e:2x2, v5e:2x4"):
        tpu.parse_for_vertex("v6e:2x2")

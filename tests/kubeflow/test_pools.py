import kubernetes_validate
import pytest

from kubeflow import pools, tpu

KUBERNETES = "1.30"


def pod(placement: pools.Placement) -> dict:
    """The pod that KFP's driver makes of a placement."""
    amount = {placement.resource: str(placement.count)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trainer"},
        "spec": {
            "nodeSelector": placement.node_labels,
            "tolerations": placement.tolerations,
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "resources": {"limits": amount, "requests": amount},
                }
            ],
        },
    }


ALL = [
    *(pools.for_tpu(entry, spot=spot) for entry in tpu.SLICES.values() for spot in (False, True)),
    *(pools.for_gpus(pools.Gpus("nvidia-l4", 2), spot=spot) for spot in (False, True)),
]


@pytest.mark.parametrize("placement", ALL)
def test_kubernetes_takes_the_pod(placement):
    kubernetes_validate.validate(pod(placement), KUBERNETES, strict=True)


def test_kubernetes_validation_would_find_a_mistake():
    placement = pools.for_tpu(tpu.parse("v5e:2x2"), spot=False)
    wrong = pools.Placement(placement.resource, 4, placement.node_labels, [{"effects": "x"}])
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod(wrong), KUBERNETES, strict=True)


def test_tpu_placement():
    placement = pools.for_tpu(tpu.parse("v5e:2x4"), spot=False)
    assert placement.resource == "google.com/tpu"
    assert placement.count == 8
    assert placement.node_labels == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "2x4",
    }
    assert placement.tolerations == [
        {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


def test_gpu_placement():
    placement = pools.for_gpus(pools.parse_gpus("nvidia-tesla-a100:2"), spot=False)
    assert placement.resource == "nvidia.com/gpu"
    assert placement.count == 2
    assert placement.node_labels == {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"}
    assert placement.tolerations == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]


@pytest.mark.parametrize("placement", ALL[1::2])
def test_spot_is_selected_and_tolerated(placement):
    assert placement.node_labels["cloud.google.com/gke-spot"] == "true"
    assert {
        "key": "cloud.google.com/gke-spot",
        "operator": "Equal",
        "value": "true",
        "effect": "NoSchedule",
    } in placement.tolerations


@pytest.mark.parametrize(
    "text", ["", "nvidia-l4", "nvidia-l4:0", "l4:1", "nvidia-l4:17", "nvidia-:1"]
)
def test_bad_gpus_are_refused_with_the_form(text):
    with pytest.raises(pools.GpuError, match="TYPE:COUNT"):
        pools.parse_gpus(text)

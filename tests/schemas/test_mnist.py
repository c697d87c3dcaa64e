from importlib import resources

import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from components import mnist_files
from schemas import mnist


@pytest.fixture
def features():
    text = (resources.files("schemas") / "mnist.pbtxt").read_text("utf-8")
    schema = text_format.Parse(text, schema_pb2.Schema())
    return {feature.name: feature for feature in schema.feature}


def test_the_schema_has_the_features_of_the_facts(features):
    assert set(features) == {mnist.IMAGE, mnist.LABEL}
    assert features[mnist.IMAGE].type == schema_pb2.BYTES
    assert features[mnist.LABEL].type == schema_pb2.INT


def test_the_schema_admits_the_classes_of_the_facts(features):
    domain = features[mnist.LABEL].int_domain
    assert (domain.min, domain.max) == (0, mnist.CLASSES - 1)
    assert domain.is_categorical  # statistics count the values of categorical features only
    assert len(mnist.CLASS_NAMES) == len(set(mnist.CLASS_NAMES)) == mnist.CLASSES


@pytest.mark.parametrize("name", [mnist.IMAGE, mnist.LABEL])
def test_every_example_must_have_one_value_of_each_feature(features, name):
    assert features[name].presence.min_fraction == 1
    assert features[name].presence.min_count == 1
    assert [dimension.size for dimension in features[name].shape.dim] == [1]


def test_the_files_are_named_in_the_order_of_their_roles():
    roles = [mnist_files.role(name) for name in mnist.FILES]
    assert roles == ["train_images", "train_labels", "test_images", "test_labels"]

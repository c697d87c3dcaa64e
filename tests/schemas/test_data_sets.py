from importlib import resources

import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from components import mnist_names
from components.schema import schema_text
from schemas import data_sets, mnist

ALL = [*data_sets.BY_NAME.values(), data_sets.of_own(13), data_sets.of_own(2, ("cat", "dog"))]


@pytest.fixture(params=ALL, ids=lambda facts: facts.name or f"own {facts.num_classes}")
def facts(request):
    return request.param


@pytest.fixture
def features(facts):
    schema = text_format.Parse(schema_text(facts), schema_pb2.Schema())
    return {feature.name: feature for feature in schema.feature}


def test_each_named_data_set_has_its_schema_and_no_other_has_one():
    names = {entry.name for entry in resources.files("schemas").iterdir()}
    committed = {name.removesuffix(".pbtxt") for name in names if name.endswith(".pbtxt")}
    # `pixels` is no data set: `pipeline drift` describes images by its features.
    assert committed == {*data_sets.BY_NAME, "pixels"}


def test_the_schema_has_the_features_of_the_facts(features):
    assert set(features) == {mnist.IMAGE, mnist.LABEL}
    assert features[mnist.IMAGE].type == schema_pb2.BYTES
    assert features[mnist.LABEL].type == schema_pb2.INT


def test_the_schema_admits_the_classes_of_the_facts(facts, features):
    domain = features[mnist.LABEL].int_domain
    assert (domain.min, domain.max) == (0, facts.num_classes - 1)
    assert domain.is_categorical  # statistics count the values of categorical features only


def test_every_example_must_have_one_value_of_each_feature(features):
    for feature in features.values():
        assert feature.presence.min_fraction == 1
        assert feature.presence.min_count == 1
        assert [dimension.size for dimension in feature.shape.dim] == [1]


def test_each_class_has_a_name_of_its_own(facts):
    assert len(set(facts.label_names)) == facts.num_classes == len(facts.labels)


def test_the_files_are_named_in_the_order_of_their_roles(facts):
    roles = [mnist_names.role(name) for name in facts.files]
    assert roles == ["train images", "train labels", "test images", "test labels"]


def test_digests_are_given_for_all_files_or_none(facts):
    assert len(facts.sha256) in (0, len(facts.files))
    assert all(len(bytes.fromhex(digest)) == 32 for digest in facts.sha256)


def test_labels_of_emnist_letters_begin_at_1():
    letters = data_sets.EMNIST_LETTERS
    assert (letters.labels[0], letters.labels[-1]) == (1, 26)
    assert (letters.label_names[0], letters.label_names[-1]) == ("A", "Z")
    assert letters.files[2] == "emnist-letters-test-images-idx3-ubyte"


def test_classes_without_names_are_named_by_their_labels():
    assert data_sets.of_own(3, first_label=1).label_names == ("1", "2", "3")
    assert data_sets.of_own(2, ("a", "b"), first_label=1).label_names == ("a", "b")

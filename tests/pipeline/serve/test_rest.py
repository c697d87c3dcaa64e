"""TF Serving's format, without a model."""

import base64
import json

import numpy as np
import pytest
import tensorflow as tf

from pipeline.serve import rest

IMAGE = {"image": tf.TensorSpec([None, 2, 3], tf.uint8)}
PNG = {"png": tf.TensorSpec([None], tf.string)}
BOTH = {**IMAGE, **PNG}
SIGNATURES = {"serving_default": IMAGE, "png": PNG, "both": BOTH}

ROWS = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [0, 255, 1]]]
BYTES = b"\x89PNG\xff"
B64 = {"b64": base64.b64encode(BYTES).decode()}


def parse(request) -> rest.PredictRequest:
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    return rest.parse(body, SIGNATURES.__getitem__, "serving_default")


@pytest.mark.parametrize(
    "request_",
    [
        {"instances": ROWS},
        {"instances": [{"image": row} for row in ROWS]},
        {"inputs": ROWS},
        {"inputs": {"image": ROWS}},
        {"signature_name": "serving_default", "inputs": ROWS},
    ],
)
def test_the_ways_to_give_the_only_input(request_):
    parsed = parse(request_)
    assert parsed.signature == "serving_default"
    assert parsed.by_row == ("instances" in request_)
    assert parsed.inputs["image"].dtype == np.uint8
    np.testing.assert_array_equal(parsed.inputs["image"], ROWS)


@pytest.mark.parametrize(
    "request_",
    [
        {"instances": [B64, "text"]},
        {"instances": [{"png": B64}, {"png": "text"}]},
        {"inputs": [B64, "text"]},
        {"inputs": {"png": [B64, "text"]}},
    ],
)
def test_bytes(request_):
    parsed = parse({"signature_name": "png", **request_})
    assert parsed.inputs["png"].tolist() == [BYTES, b"text"]


def test_several_inputs():
    parsed = parse({"signature_name": "both", "instances": [{"image": ROWS[0], "png": B64}]})
    assert parsed.inputs["image"].shape == (1, 2, 3)
    assert parsed.inputs["png"].tolist() == [BYTES]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        ([], "must be a JSON object, got a list"),
        ({}, "either 'instances' or 'inputs'"),
        ({"instances": ROWS, "inputs": ROWS}, "either 'instances' or 'inputs'"),
        ({"instances": []}, "a list of at least one example"),
        ({"instances": 7}, "a list of at least one example"),
        ({"inputs": []}, r"must have shape \[batch, 2, 3\], got \[0\]"),
        ({"instances": [ROWS]}, r"must have shape \[batch, 2, 3\], got \[1, 2, 2, 3\]"),
        ({"instances": [[[1, 2], [3]]]}, "rows of equal length"),
        ({"instances": [[[1, 2, 3], [4, 5, 256]]]}, "integers from 0 to 255"),
        ({"instances": [[[1, 2, 3], [4, 5, -1]]]}, "integers from 0 to 255"),
        ({"instances": [[[1, 2, 3], [4, 5, 0.5]]]}, "integers from 0 to 255"),
        ({"instances": [[[1, 2, 3], [4, 5, None]]]}, "integers from 0 to 255"),
        ({"instances": [[[1, 2, 3], [4, 5, 10**400]]]}, "integers from 0 to 255"),
        ({"instances": ["seven"]}, "integers from 0 to 255"),
        ({"instances": [B64]}, "integers from 0 to 255"),
        ({"instances": [{"pixels": ROWS[0]}]}, "inputs must be image, got pixels"),
        ({"instances": [{"image": ROWS[0], "label": 1}]}, "must be image, got image, label"),
        ({"inputs": {}}, "inputs must be image, got none"),
        ({"signature_name": "tiff", "instances": ROWS}, "'tiff' is not a signature"),
        ({"signature_name": [], "instances": ROWS}, "is not a signature"),
        ({"signature_name": "png", "instances": [{"b64": "?"}]}, "png must be given as"),
        ({"signature_name": "png", "instances": [7]}, "png must be given as"),
        ({"signature_name": "png", "instances": [[B64]]}, r"shape \[batch\], got \[1, 1\]"),
        ({"signature_name": "png", "instances": [["a"], ["a", "b"]]}, "rows of equal length"),
        ({"signature_name": "both", "instances": ROWS}, "name the inputs: image, png"),
    ],
)
def test_each_mistake_is_named(request_, message):
    with pytest.raises(rest.RestError, match=message):
        parse(request_)


OUTPUTS = {
    "probabilities": np.array([[0.25, 0.75], [1, 0]], np.float32),
    "class": np.array([1, 0], np.int64),
}


def test_an_answer_by_row():
    assert rest.answer(OUTPUTS, by_row=True) == {
        "predictions": [
            {"probabilities": [0.25, 0.75], "class": 1},
            {"probabilities": [1.0, 0.0], "class": 0},
        ]
    }


def test_an_answer_by_column():
    assert rest.answer(OUTPUTS, by_row=False) == {
        "outputs": {"probabilities": [[0.25, 0.75], [1.0, 0.0]], "class": [1, 0]}
    }

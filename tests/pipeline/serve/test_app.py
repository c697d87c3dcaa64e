"""The server as its clients see it, over HTTP."""

import base64
import dataclasses
import io
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import requests
from PIL import Image

from components import publishing
from pipeline.serve import guards
from pipeline.serve.app import Limits
from tests.support import photos, saved_models, serving

PREDICT = "/v1/models/mnist:predict"
STATUS = "/v1/models/mnist"


def png(image: np.ndarray) -> dict[str, str]:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return {"b64": base64.b64encode(file.getvalue()).decode()}


def predict(address: str, **request) -> requests.Response:
    return requests.post(address + PREDICT, json=request)


def version(address: str) -> str:
    return requests.get(address + "/version").json()["version"]


def classes(response: requests.Response) -> list[int]:
    assert response.status_code == 200, response.text
    return [row["class"] for row in response.json()["predictions"]]


def test_every_signature_answers_alike(address, sevens):
    examples = [{"b64": base64.b64encode(one).decode()} for one in saved_models.serialized([7, 7])]
    by_signature = {
        "image": sevens.tolist(),
        "png": [png(image) for image in sevens],
        "serving_default": examples,
    }
    answers = [
        predict(address, signature_name=name, instances=instances).json()
        for name, instances in by_signature.items()
    ]
    assert classes(predict(address, instances=examples)) == [7, 7]
    for answer in answers:
        assert answer["predictions"][0]["class"] == 7
        assert answer["predictions"][0]["probabilities"] == pytest.approx(
            answers[0]["predictions"][0]["probabilities"], abs=1e-6
        )


def test_by_column(address, sevens):
    outputs = predict(address, signature_name="image", inputs=sevens.tolist()).json()["outputs"]
    assert outputs["class"] == [7, 7]
    assert np.shape(outputs["probabilities"]) == (2, 10)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "either 'instances' or 'inputs'"),
        ({"signature_name": "png", "instances": [{"b64": "AAAA"}]}, "image file format"),
        ({"instances": [{"b64": "AAAA"}]}, "Could not parse example"),
    ],
)
def test_a_mistake_is_answered_as_tf_serving_does(address, request_, message):
    response = predict(address, **request_)
    assert response.status_code == 400
    assert list(response.json()) == ["error"]
    assert message in response.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/static/nothing", 404),
        ("GET", "/static/../app.py", 404),
        ("GET", "/static/%2e%2e/app.py", 404),
        ("GET", "/recognize", 405),
        ("POST", "/v1/models/other:predict", 404),
        ("GET", "/v1/models/other", 404),
    ],
)
def test_what_is_not_there_is_said_in_json(address, method, path, status):
    response = requests.request(method, address + path)
    assert response.status_code == status
    assert list(response.json()) == ["error"]


def test_status_names_the_version_and_one_that_could_not_be_taken_over(address, holder):
    status = requests.get(address + STATUS).json()["model_version_status"]
    assert status == [
        {
            "version": "10",
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
    ]
    holder.refused = (11, "it is broken")
    refused, served = requests.get(address + STATUS).json()["model_version_status"]
    assert (refused["version"], refused["state"]) == ("11", "END")
    assert refused["status"]["error_message"] == "it is broken"
    assert served == status[0]


def test_health_and_version(address):
    assert requests.get(address + "/healthz").json() == {"status": "ok"}
    answer = requests.get(address + "/version").json()
    assert (answer["version"], answer["accuracy"]) == ("10", None)
    assert answer["class_names"] == [str(digit) for digit in range(10)]
    assert answer["model"] == "mnist"


def test_the_page_gets_what_the_network_received(address, sevens):
    answer = requests.post(address + "/recognize", data=photos.encode(sevens[0])).json()
    assert answer["class"] == int(np.argmax(answer["probabilities"])) == 7
    np.testing.assert_array_equal(answer["image"], sevens[0])
    assert answer["notes"] == []
    assert answer["version"] == "10"


def test_a_picture_that_cannot_be_used_is_refused(address):
    response = requests.post(address + "/recognize", data=b"no picture")
    assert response.status_code == 400
    assert "use PNG or JPEG" in response.json()["error"]


def test_security_headers_are_on_every_answer(address):
    for path in ("/", "/static/page.js", "/version", "/nothing"):
        headers = requests.get(address + path).headers
        assert guards.HEADERS.items() <= headers.items()
        assert "server" not in headers


def test_other_host_names_are_refused(address):
    assert requests.get(address + "/version", headers={"Host": "evil.example"}).status_code == 400
    assert requests.get(address + "/version", headers={"Host": "localhost"}).status_code == 200


@pytest.mark.parametrize("announced", [True, False])
def test_a_large_body_is_refused(holder, announced):
    with serving.running(holder, Limits(body_bytes=1000)) as address:
        pieces = (b" " * 100 for _ in range(11))
        body = b" " * 1100 if announced else pieces
        response = requests.post(address + PREDICT, data=body)
        assert response.status_code == 413
        assert response.json() == {"error": "the body has more than 1000 bytes"}
        assert requests.post(address + PREDICT, data=b" " * 1000).status_code == 400


def test_a_fast_client_is_slowed_down(holder):
    with serving.running(holder, Limits(requests_per_second=5)) as address:
        statuses = [requests.get(address + "/healthz").status_code for _ in range(40)]
    assert statuses[:5] == [200] * 5
    assert 429 in statuses


def test_an_error_of_ours_shows_no_details(address, holder, sevens, caplog):
    holder.current = dataclasses.replace(
        holder.current, signatures={"image": holder.current.inputs}
    )
    response = predict(address, signature_name="image", instances=sevens.tolist())
    assert response.status_code == 500
    assert response.json() == {"error": "internal error; the server's log says more"}
    assert "failed" in caplog.text


def test_a_request_that_has_begun_ends_on_its_version(pushed, holder, confused, sevens):
    begun, go_on = threading.Event(), threading.Event()
    signature = holder.current.signatures["image"]

    class Slow:
        structured_input_signature = signature.structured_input_signature

        def __call__(self, **inputs):
            begun.set()
            assert go_on.wait(60)
            return signature(**inputs)

    holder.current = dataclasses.replace(holder.current, signatures={"image": Slow()})
    with (
        serving.running(holder, Limits(refresh_seconds=0.05)) as address,
        ThreadPoolExecutor() as pool,
    ):
        request = {"signature_name": "image", "instances": sevens.tolist()}
        old = pool.submit(predict, address, **request)
        assert begun.wait(60)
        publishing.publish(confused, pushed, keep=1, clock=lambda: 11)
        serving.eventually(lambda: version(address) == "11")
        new = predict(address, **request)
        go_on.set()
        assert (old.result().headers["X-Model-Version"], classes(old.result())) == ("10", [7, 7])
        assert (new.headers["X-Model-Version"], classes(new)) == ("11", [1, 1])


def test_of_1000_requests_none_is_lost_while_a_version_is_pushed(pushed, holder, confused, sevens):
    request = {"signature_name": "image", "instances": sevens[:1].tolist()}
    answers = []
    with (
        serving.running(holder, Limits(refresh_seconds=0.05)) as address,
        requests.Session() as client,
        ThreadPoolExecutor() as pool,
    ):

        def ask() -> str:
            response = client.post(address + PREDICT, json=request)
            answers.append((response.headers["X-Model-Version"], classes(response)))
            return answers[-1][0]

        for number in range(1000):
            if number == 300:
                push = pool.submit(publishing.publish, confused, pushed, 1, lambda: 11)
            ask()
        assert push.result() == 11
        serving.eventually(lambda: ask() == "11")
    assert len(answers) >= 1000
    assert answers == sorted(answers)  # All of version 10 came before all of version 11.
    assert set(map(str, answers)) == {"('10', [7])", "('11', [1])"}

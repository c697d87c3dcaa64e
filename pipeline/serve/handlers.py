"""What is answered at each address."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from pipeline import images
from pipeline.serve import model, rest
from pipeline.serve.holder import Holder

VERSION_HEADER = "X-Model-Version"

STATIC = Path(__file__).parent / "static"


async def page(_: Request) -> Response:
    """Where one draws."""
    return FileResponse(STATIC / "index.html")


async def health(_: Request) -> Response:
    """For whatever restarts a server that is ill; this one does not start without a model."""
    return JSONResponse({"status": "ok"})


async def version(request: Request) -> Response:
    """The version that is served."""
    holder = _holder(request)
    return JSONResponse({"model": holder.name, **_describe(holder.current)})


async def status(request: Request) -> Response:
    """The version that is served, and a newer one that cannot be, as TF Serving says it."""
    _require_model(request)
    holder = _holder(request)
    states = [_state(holder.current.version, "AVAILABLE", "OK", "")]
    if holder.refused:
        number, reason = holder.refused
        states.insert(0, _state(number, "END", "UNKNOWN", reason))
    return JSONResponse({"model_version_status": states})


async def predict(request: Request) -> Response:
    """TF Serving's predict."""
    _require_model(request)
    return await _answer(request, _predict)


async def recognize(request: Request) -> Response:
    """For the page: a picture in, what the network received and made of it out."""
    return await _answer(request, _recognize)


def _predict(served: model.PushedModel, body: bytes) -> dict:
    asked = rest.parse(body, served.inputs, model.DEFAULT)
    return rest.answer(served.call(asked.signature, asked.inputs), asked.by_row)


def _recognize(served: model.PushedModel, body: bytes) -> dict:
    prepared = images.prepare(body)
    probabilities, classes = served.predict(prepared.image[None])
    return {
        **_describe(served),
        "class": int(classes[0]),
        "probabilities": probabilities[0].tolist(),
        "image": prepared.image.tolist(),
        "notes": prepared.notes,
    }


async def _answer(request: Request, work: Callable[[model.PushedModel, bytes], dict]) -> Response:
    served = _holder(request).current
    body = await _body(request)
    try:
        content = await run_in_threadpool(work, served, body)
    except (rest.RestError, model.InputError, images.ImageError) as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from None
    return JSONResponse(content, headers={VERSION_HEADER: str(served.version)})


async def _body(request: Request) -> bytes:
    most = request.app.state.limits.body_bytes
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {most} bytes"
            )
    return bytes(body)


def _holder(request: Request) -> Holder:
    return request.app.state.holder


def _require_model(request: Request) -> None:
    name = request.path_params["name"]
    served = _holder(request).name
    if name != served:
        raise HTTPException(
            HTTPStatus.NOT_FOUND, f"there is no model {name!r}; the one here is {served!r}"
        )


def _describe(served: model.PushedModel) -> dict:
    return {
        "version": str(served.version),
        "accuracy": served.accuracy,
        "class_names": served.label_names,
    }


def _state(number: int, state: str, code: str, message: str) -> dict:
    outcome = {"error_code": code, "error_message": message}
    return {"version": str(number), "state": state, "status": outcome}

"""Vertex AI on this machine, as far as the client can tell: gRPC over TLS, a bucket over HTTP."""

import contextlib
import http.server
import itertools
import json
import threading
from collections.abc import Iterator
from concurrent import futures

import grpc
import trustme
from google.cloud import aiplatform_v1 as v1
from google.cloud.aiplatform_v1.types import pipeline_state
from google.longrunning import operations_pb2
from google.protobuf import any_pb2, empty_pb2


class FakeVertex:
    """Keeps what it is sent.

    Attributes:
      jobs: CreatePipelineJobRequests, in order.
      schedules: Schedules by resource name.
      calls: (method, resource name) of each call on a schedule, in order.
      resumed: Whether missed runs were asked for, by resource name.
      fail_create: Have the next schedule refused.
    """

    def __init__(self):
        self.jobs: list[v1.CreatePipelineJobRequest] = []
        self.schedules: dict[str, v1.Schedule] = {}
        self.calls: list[tuple[str, str]] = []
        self.resumed: dict[str, bool] = {}
        self.fail_create = False
        self._numbers = itertools.count(1)

    def named(self, name: str) -> list[v1.Schedule]:
        """The schedules of a display name."""
        return [entry for entry in self.schedules.values() if entry.display_name == name]

    def create_pipeline_job(self, request, context):
        self.jobs.append(request)
        job = request.pipeline_job
        job.name = f"{request.parent}/pipelineJobs/{request.pipeline_job_id}"
        job.state = pipeline_state.PipelineState.PIPELINE_STATE_PENDING
        return job

    def create_schedule(self, request, context):
        if self.fail_create:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the schedule is refused")
        entry = request.schedule
        entry.name = f"{request.parent}/schedules/{next(self._numbers)}"
        entry.state = v1.Schedule.State.ACTIVE
        self.schedules[entry.name] = entry
        self.calls.append(("create", entry.name))
        return entry

    def get_schedule(self, request, context):
        return self.schedules[request.name]

    def list_schedules(self, request, context):
        entries = list(self.schedules.values())
        if request.filter:
            key, _, value = request.filter.partition("=")
            assert key == "display_name"
            entries = [e for e in entries if e.display_name == json.loads(value)]
        return v1.ListSchedulesResponse(schedules=entries)

    def pause_schedule(self, request, context):
        self.schedules[request.name].state = v1.Schedule.State.PAUSED
        self.calls.append(("pause", request.name))
        return empty_pb2.Empty()

    def resume_schedule(self, request, context):
        self.schedules[request.name].state = v1.Schedule.State.ACTIVE
        self.resumed[request.name] = request.catch_up
        self.calls.append(("resume", request.name))
        return empty_pb2.Empty()

    def delete_schedule(self, request, context):
        del self.schedules[request.name]
        self.calls.append(("delete", request.name))
        return operation(request.name, empty_pb2.Empty())

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """The methods as gRPC wants them."""
        schedules = {
            "CreateSchedule": (
                self.create_schedule,
                v1.CreateScheduleRequest,
                v1.Schedule.serialize,
            ),
            "GetSchedule": (self.get_schedule, v1.GetScheduleRequest, v1.Schedule.serialize),
            "ListSchedules": (
                self.list_schedules,
                v1.ListSchedulesRequest,
                v1.ListSchedulesResponse.serialize,
            ),
            "PauseSchedule": (self.pause_schedule, v1.PauseScheduleRequest, serialized),
            "ResumeSchedule": (self.resume_schedule, v1.ResumeScheduleRequest, serialized),
            "DeleteSchedule": (self.delete_schedule, v1.DeleteScheduleRequest, serialized),
        }
        jobs = {
            "CreatePipelineJob": (
                self.create_pipeline_job,
                v1.CreatePipelineJobRequest,
                v1.PipelineJob.serialize,
            )
        }
        return [service("ScheduleService", schedules), service("PipelineService", jobs)]


def serialized(message) -> bytes:
    """A plain protocol buffer as bytes."""
    return message.SerializeToString()


def operation(name: str, response) -> operations_pb2.Operation:
    """A long-running operation that is over already."""
    done = any_pb2.Any()
    done.Pack(response)
    return operations_pb2.Operation(name=f"{name}/operations/1", done=True, response=done)


def service(name: str, methods: dict[str, tuple]) -> grpc.GenericRpcHandler:
    """A service of Vertex AI.

    Args:
      name: E.g. `ScheduleService`.
      methods: (handler, request type, serializer of the response) by name.
    """
    return grpc.method_handlers_generic_handler(
        f"google.cloud.aiplatform.v1.{name}",
        {
            method: grpc.unary_unary_rpc_method_handler(handler, request.deserialize, serialize)
            for method, (handler, request, serialize) in methods.items()
        },
    )


@contextlib.contextmanager
def serving(handlers: list[grpc.GenericRpcHandler], authority: trustme.CA) -> Iterator[str]:
    """Serves with a certificate of `authority`; gives `localhost:PORT`."""
    certificate = authority.issue_cert("localhost")
    chain = b"".join(pem.bytes() for pem in certificate.cert_chain_pems)
    credentials = grpc.ssl_server_credentials([(certificate.private_key_pem.bytes(), chain)])
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(handlers)
    port = server.add_secure_port("localhost:0", credentials)
    server.start()
    try:
        yield f"localhost:{port}"
    finally:
        server.stop(None).wait()


class _Bucket(http.server.BaseHTTPRequestHandler):
    """There is every bucket, and nothing more is known of it."""

    def do_GET(self):
        known = "fields=name" in self.path
        body = b'{"name": "bucket"}' if known else b"{}"
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def bucket_server() -> Iterator[str]:
    """A stand-in for Cloud Storage; gives its URL."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()

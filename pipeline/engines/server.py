"""Beam's job service with workers in processes of their own; `servers.py` starts and stops it.

Prints its addresses, and ends when its standard input does.
"""

import contextlib
import functools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

import grpc
from apache_beam.portability import common_urns
from apache_beam.portability.api import (
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_job_api_pb2,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
    beam_runner_api_pb2,
)
from apache_beam.runners.portability import local_job_service
from apache_beam.runners.portability.fn_api_runner import fn_runner, worker_handlers
from apache_beam.utils import thread_pool_executor
from google.protobuf import json_format, text_format

_HOST = "localhost"
_SECONDS_TO_END = 5

log = logging.getLogger(__name__)


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Starts workers for whoever runs a job.

    Beam's own pool listens on every network, starts whatever `python` is found first, and tells
    its workers neither the options nor where the log goes.
    """

    def __init__(self, jobs: Sequence["Job"]) -> None:
        """`jobs` are all that were ever sent; those that run own the workers that are started."""
        self._jobs = jobs
        self._workers: list[subprocess.Popen] = []

    def StartWorker(self, request, context):
        """Starts one, as Beam's containers do; the name is the protocol's."""
        environment = {
            **os.environ,
            "WORKER_ID": request.worker_id,
            "PIPELINE_OPTIONS": _options(request),
            "CONTROL_API_SERVICE_DESCRIPTOR": _line(request.control_endpoint),
            "LOGGING_API_SERVICE_DESCRIPTOR": _line(request.logging_endpoint),
        }
        command = [sys.executable, "-m", "apache_beam.runners.worker.sdk_worker_main"]
        worker = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        self._workers.append(worker)
        log.info("Worker %s is process %d", request.worker_id, worker.pid)
        running = [job for job in self._jobs if not job.is_terminal_state(job.state)]
        threading.Thread(target=_watch, args=[worker, running], daemon=True).start()
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(self, request, context):
        """A worker ends with its job, when its connection does."""
        return beam_fn_api_pb2.StopWorkerResponse()

    def stop(self) -> None:
        """Ends what still works."""
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            try:
                worker.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()


@worker_handlers.WorkerHandler.register_environment(
    common_urns.environments.EXTERNAL.urn, beam_runner_api_pb2.ExternalPayload
)
class _Handler(worker_handlers.ExternalWorkerHandler):
    """Its workers are on this machine, whose full name may lead nowhere."""

    def host_from_worker(self) -> str:
        return _HOST


class _Runner(fn_runner.FnApiRunner):
    """Beam's runner takes the number of workers from the options, but not in a job service."""

    def __init__(self, workers: int, **arguments):
        super().__init__(**arguments)
        self._num_workers = workers


class Job(local_job_service.BeamJob):
    """A job that fails when one of its workers does."""

    def __init__(self, jobs: list["Job"], workers: int, *arguments):
        super().__init__(*arguments)
        self._workers = workers
        jobs.append(self)

    def fail(self, reason: str) -> None:
        """Beam's runner would wait for a dead worker for ever."""
        if not self.is_terminal_state(self.state):
            error = beam_job_api_pb2.JobMessage.JOB_MESSAGE_ERROR
            self._log_queues.put(beam_job_api_pb2.JobMessage(importance=error, message_text=reason))
            self.set_state(beam_job_api_pb2.JobState.FAILED)

    def _invoke_runner(self):
        self.set_state(beam_job_api_pb2.JobState.RUNNING)
        runner = _Runner(self._workers, provision_info=self._provision_info)
        return runner.run_via_runner_api(self._pipeline_proto, self.pipeline_options())


def serve(workers: int) -> None:
    """Serves until the standard input ends, so never longer than whoever started it lives.

    Args:
      workers: Processes for each job.
    """
    jobs: list[Job] = []
    pool = WorkerPool(jobs)
    pool_server = grpc.server(thread_pool_executor.shared_unbounded_instance())
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, pool_server)
    pool_port = pool_server.add_insecure_port(f"{_HOST}:0")
    pool_server.start()
    service = local_job_service.LocalJobServicer(
        beam_job_type=functools.partial(Job, jobs, workers)
    )
    job_port = service.start_grpc_server()
    try:
        addresses = {"jobs": f"{_HOST}:{job_port}", "workers": f"{_HOST}:{pool_port}"}
        print(json.dumps(addresses), flush=True)
        # Nobody reads on, and what waits to be read would stop whoever prints.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
    finally:
        pool.stop()
        service.stop()


def _watch(worker: subprocess.Popen, jobs: Sequence[Job]) -> None:
    code = worker.wait()
    log.info("Worker process %d ended with exit code %d", worker.pid, code)
    if code:
        reason = f"worker process {worker.pid} ended with exit code {code}"
        if code == -signal.SIGKILL:
            reason += ", perhaps for want of memory"
        for job in jobs:
            job.fail(reason)


def _options(request: beam_fn_api_pb2.StartWorkerRequest) -> str:
    with grpc.insecure_channel(request.provision_endpoint.url) as channel:
        stub = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        answer = stub.GetProvisionInfo(
            beam_provision_api_pb2.GetProvisionInfoRequest(),
            metadata=[("worker_id", request.worker_id)],
        )
    return json_format.MessageToJson(answer.info.pipeline_options)


def _line(message) -> str:
    return text_format.MessageToString(message, as_one_line=True)


def _end(*_) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    signal.signal(signal.SIGTERM, _end)
    serve(int(sys.argv[1]))
    # A job that was cut off leaves threads that wait for ever.
    os._exit(0)

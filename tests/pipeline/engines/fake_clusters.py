"""The REST services of Flink, Spark and Dataflow, as far as Beam's clients need them for a job."""

import contextlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

FLINK = {
    r"POST /v1/jars/upload": {"filename": "/uploads/1_beam.jar"},
    r"POST /v1/jars/1_beam.jar/run": {"jobid": "7"},
    r"GET /v1/jobs/7/execution-result": {"status": {"id": "COMPLETED"}},
    r"GET /v1/jobs/7": {"state": "FINISHED"},
    r"GET /v1/jobs/7/exceptions": {"all-exceptions": []},
    r"DELETE /v1/jars/1_beam.jar": {},
}
SPARK = {
    r"GET /": (400, {"serverSparkVersion": "3.5.0"}),
    r"POST /v1/submissions/create": {"submissionId": "driver-7"},
    r"GET /v1/submissions/status/driver-7": {"driverState": "FINISHED"},
}
_JOB = {"id": "job-7", "projectId": "my-project", "currentState": "JOB_STATE_DONE"}
DATAFLOW = {
    r"GET /storage/v1/b/bucket": {"name": "bucket"},
    r"GET /storage/v1/b/bucket/o/.*": (404, {}),
    r"POST /upload/storage/v1/b/bucket/o": {},
    r"PUT /upload/storage/v1/b/bucket/o": {"name": "file", "bucket": "bucket"},
    r"POST /v1b3/projects/my-project/locations/[\w-]+/jobs": _JOB,
    r"GET /v1b3/projects/my-project/locations/[\w-]+/jobs/job-7": _JOB,
    r"GET /v1b3/projects/my-project/locations/[\w-]+/jobs/job-7/messages": {},
}


@dataclass
class Cluster:
    """Where it listens, and what it was sent: bodies by method and path."""

    address: str
    received: dict[str, bytes] = field(default_factory=dict)


@contextlib.contextmanager
def serve(answers: dict) -> Iterator[Cluster]:
    """Answers by what is asked, and with 400 what a job has no need to ask."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = f"{self.command} {urlsplit(self.path).path}"
            cluster.received[asked] = cluster.received.get(asked, b"") + body
            found = [answers[key] for key in answers if re.fullmatch(key, asked)]
            answer = found[0] if found else (400, {"unknown": asked})
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.send_header("Location", f"{cluster.address}{self.path}")
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, *_):
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        cluster = Cluster(f"http://localhost:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield cluster
        finally:
            server.shutdown()
            thread.join()

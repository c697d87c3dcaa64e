"""The REST API of Kubeflow Pipelines on this machine, as far as the client can tell."""

import contextlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator

_API = "/apis/v2beta1"


class FakeKubeflow:
    """Keeps what it is sent.

    Attributes:
      runs: Bodies of the runs, in order.
      recurring: Bodies of the recurring runs by id.
      tokens: Authorization headers seen.
      calls: (HTTP method, path without query) of each call, in order.
    """

    def __init__(self):
        self.runs: list[dict] = []
        self.recurring: dict[str, dict] = {}
        self.tokens: set[str | None] = set()
        self.calls: list[tuple[str, str]] = []
        self._experiments: dict[str, dict] = {}
        self._created = 0

    def answer(self, method: str, path: str, query: dict[str, str], body: dict) -> dict | None:
        """The response to a request; None where there is nothing."""
        self.calls.append((method, path))
        if path == f"{_API}/healthz":
            return {"multi_user": False}
        if path == f"{_API}/experiments":
            return self._experiment(method, query, body)
        if path == f"{_API}/runs":
            self.runs.append(body)
            return {**body, "run_id": f"run-{len(self.runs)}"}
        if path == f"{_API}/recurringruns":
            return self._recurring(method, body)
        if path.startswith(f"{_API}/recurringruns/") and method == "DELETE":
            del self.recurring[path.rsplit("/", 1)[1]]
            return {}
        return None

    def _experiment(self, method: str, query: dict[str, str], body: dict) -> dict:
        if method == "POST":
            name = body["display_name"]
            self._experiments[name] = {**body, "experiment_id": f"experiment-{name}"}
            return self._experiments[name]
        [predicate] = json.loads(query["filter"])["predicates"]
        found = self._experiments.get(predicate["stringValue"])
        return {"experiments": [found], "total_size": 1} if found else {}

    def _recurring(self, method: str, body: dict) -> dict:
        if method == "POST":
            self._created += 1
            created = {**body, "recurring_run_id": f"recurring-{self._created}"}
            self.recurring[created["recurring_run_id"]] = created
            return created
        return {"recurringRuns": list(self.recurring.values())}

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serves; gives the URL."""
        handler = type("Handler", (_Handler,), {"fake": self})
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                yield f"http://127.0.0.1:{server.server_port}"
            finally:
                server.shutdown()


class _Handler(http.server.BaseHTTPRequestHandler):
    fake: FakeKubeflow

    def _handle(self):
        url = urllib.parse.urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        self.fake.tokens.add(self.headers.get("authorization"))
        query = dict(urllib.parse.parse_qsl(url.query))
        answer = self.fake.answer(self.command, url.path, query, body)
        text = json.dumps(answer or {}).encode()
        self.send_response(404 if answer is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = _handle

    def log_message(self, *_):
        pass

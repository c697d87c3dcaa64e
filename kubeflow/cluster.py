"""Submits to Kubeflow Pipelines, by its own client."""

import os
from datetime import datetime
from pathlib import Path

import kfp

from kubeflow import cron
from kubeflow.settings import KubeflowSettings

# A bearer token for clusters that ask for one; other ways to sign in are the client's own.
TOKEN = "MNIST_TFX_KUBEFLOW_TOKEN"


class ClusterError(RuntimeError):
    """The cluster cannot be asked."""


def connect(settings: KubeflowSettings) -> kfp.Client:
    """A client for the host in the settings.

    Raises:
      ClusterError: There is no host.
    """
    if not settings.host:
        raise ClusterError(
            "kubeflow.host is not set: --host URL or --set kubeflow.host=URL of the Kubeflow "
            "Pipelines API"
        )
    return kfp.Client(
        host=settings.host,
        namespace=settings.namespace or "kubeflow",
        existing_token=os.environ.get(TOKEN),
    )


def submit(client: kfp.Client, file: Path, name: str, settings: KubeflowSettings) -> str:
    """Starts one run; gives its id.

    Args:
      client: From `connect`.
      file: The two-document YAML, as compiled.
      name: Name of the run.
      settings: The experiment it belongs to, and as whom it runs.
    """
    return client.create_run_from_pipeline_package(
        str(file),
        run_name=name,
        experiment_name=settings.experiment,
        namespace=settings.namespace or None,
        service_account=settings.service_account or None,
    ).run_id


def check_cron(settings: KubeflowSettings, now: datetime) -> list[datetime]:
    """The next five runs of a recurring run, in UTC. Nothing is sent.

    Raises:
      CronError: The cron is wrong.
    """
    return cron.next_runs(settings.cron, 6, cron.zone("UTC"), after=now)


def recur(client: kfp.Client, file: Path, name: str, settings: KubeflowSettings) -> str:
    """Creates a recurring run in place of those with its name; gives its id.

    Args:
      client: From `connect`.
      file: The two-document YAML, as compiled.
      name: Name of the recurring run.
      settings: `cron` says when. One run at a time, and no catching up.

    Raises:
      CronError: The cron is wrong; nothing was sent.
    """
    cron.check(settings.cron, 6)
    namespace = settings.namespace or None
    experiment = client.create_experiment(settings.experiment, namespace=namespace).experiment_id
    old = _named(client, name, experiment)
    created = client.create_recurring_run(
        experiment_id=experiment,
        job_name=name,
        cron_expression=" ".join(settings.cron.split()),
        max_concurrency=1,
        no_catchup=True,
        pipeline_package_path=str(file),
        service_account=settings.service_account or None,
    )
    for recurring in old:
        client.delete_recurring_run(recurring)
    return created.recurring_run_id


def _named(client: kfp.Client, name: str, experiment: str) -> list[str]:
    found, token = [], ""
    while True:
        page = client.list_recurring_runs(page_token=token, page_size=100, experiment_id=experiment)
        found += [
            run.recurring_run_id for run in page.recurring_runs or () if run.display_name == name
        ]
        token = page.next_page_token
        if not token:
            return found

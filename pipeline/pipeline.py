"""The graph: one node after another, in the order data flows."""

import json
from dataclasses import dataclass

from tfx.components import ExampleValidator, StatisticsGen, Trainer
from tfx.orchestration import metadata
from tfx.orchestration.pipeline import Pipeline
from tfx.proto import trainer_pb2

from components.baseline import Baseline
from components.data_gate import DataGate
from components.evaluator import Evaluator
from components.example_gen import MnistExampleGen
from components.model_card import Declared
from components.model_check import ModelCheck
from components.pusher import Pusher
from components.schema import ImportSchemaGen, schema_text
from pipeline import changes, fingerprint
from pipeline.config import Settings
from pipeline.engines.options import beam_args
from pipeline.evaluation import eval_config


@dataclass(frozen=True)
class Observed:
    """What was found when the pipeline was built, for cache keys; '' for what will be later.

    Attributes:
      data_folder: Folder of the IDX files.
      data_digest: `mnist_files.check(...).fingerprint` of that folder.
      pushed: `versions.state` of the push destination.
    """

    data_folder: str
    data_digest: str = ""
    pushed: str = ""


def create_pipeline(
    settings: Settings, observed: Observed, metadata_folder: str | None = None
) -> Pipeline:
    """The pipeline that every runner takes: local, Kubeflow, Vertex.

    Args:
      settings: Of the run.
      observed: See there.
      metadata_folder: Of the metadata store, which TFX makes at once; the root by default.
    """
    # The Trainer's code alone can change without the data being ingested anew.
    code = fingerprint.of_code("components", "schemas", nested=False)
    trainer_code = fingerprint.of_code("components", "schemas")

    facts = settings.data.facts
    label_names = json.dumps(facts.label_names)

    examples = MnistExampleGen(
        input_base=observed.data_folder,
        fingerprint=observed.data_digest,
        num_classes=facts.num_classes,
        first_label=facts.first_label,
        transposed=facts.transposed,
        eval_examples=settings.data.eval_examples,
        train_limit=settings.data.train_limit,
        test_limit=settings.data.test_limit,
        code=code,
    )
    schema = ImportSchemaGen(text=schema_text(facts))
    statistics = StatisticsGen(
        examples=examples.outputs["examples"],
        # Labels are numbers: only a schema says that they are classes, to be counted one by one.
        schema=schema.outputs["schema"],
    )
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    gate = DataGate(
        examples=examples.outputs["examples"],
        anomalies=validator.outputs["anomalies"],
        statistics=statistics.outputs["statistics"],
        schema=schema.outputs["schema"],
        label_names=label_names,
        limits=settings.data.limits.model_dump_json(),
        code=code,
    )
    baseline = Baseline(
        push_destination=settings.push.destination,
        label_names=label_names,
        state=observed.pushed,
    )
    baseline.add_upstream_node(gate)
    trainer = Trainer(
        run_fn="components.trainer.module.run_fn",
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        base_model=baseline.outputs["model"] if settings.train.warm_start else None,
        train_args=trainer_pb2.TrainArgs(splits=["train"]),
        eval_args=trainer_pb2.EvalArgs(splits=["eval"]),
        custom_config={
            "train": settings.train.model_dump(mode="json"),
            "optimizer": settings.optimizer.model_dump(mode="json"),
            "checkpoints": settings.checkpoints.model_dump(mode="json"),
            "checkpoint_folder": f"{settings.root}/checkpoints",
            "label_names": list(facts.label_names),
            "code": trainer_code,
        },
    )
    trainer.add_upstream_node(gate)
    evaluator = Evaluator(
        examples=examples.outputs["examples"],
        model=trainer.outputs["model"],
        baseline_model=baseline.outputs["model"],
        eval_config=eval_config(num_classes=facts.num_classes, **settings.evaluate.model_dump()),
        example_splits=["test"],
    )
    check = ModelCheck(
        model=trainer.outputs["model"],
        baseline=baseline.outputs["model"],
        examples=examples.outputs["examples"],
        label_names=label_names,
        code=code,
    )
    pusher = Pusher(
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        infra_blessing=check.outputs["blessing"],
        evaluation=evaluator.outputs["evaluation"],
        push_destination=settings.push.destination,
        keep=settings.push.keep,
        declared=Declared(
            name=settings.name,
            data_set=settings.data.set,
            source=settings.data.source,
            command=changes.command(changes.decisive(settings)),
            thresholds=settings.evaluate.model_dump(),
        ),
    )
    return Pipeline(
        pipeline_name=settings.name,
        pipeline_root=f"{settings.root}/artifacts",
        components=[
            examples,
            schema,
            statistics,
            validator,
            gate,
            baseline,
            trainer,
            evaluator,
            check,
            pusher,
        ],
        enable_cache=settings.cache,
        metadata_connection_config=metadata.sqlite_metadata_connection_config(
            f"{metadata_folder or settings.root}/metadata.sqlite"
        ),
        beam_pipeline_args=beam_args(settings),
    )

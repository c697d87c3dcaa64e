"""Whether two SavedModels are one and the same: equal variables behind equal serving functions.

Comparing files would say no too often: TensorFlow numbers the functions of a process, and Keras
its layers, so that the same model saved twice gives two different graphs.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, node_def_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from components import versions

# Holds the names of the variables; their order and their values say all that matters.
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# Where and how to run, or names for people: no influence on what is computed. Attributes whose
# names begin with an underscore are hints as well.
_HINTS = frozenset({"config", "config_proto", "container", "debug_name", "executor_type"})


def same(model: str, other: str) -> bool:
    """Whether two folders hold the same model.

    "Yes" is certain; a "no" may be spurious, for instance between two TensorFlow releases.

    Args:
      model: Folder of a SavedModel.
      other: Folder of another one.
    """
    return serving_digest(model) == serving_digest(other) and same_variables(model, other)


def same_variables(model: str, other: str) -> bool:
    """Whether all variables of two SavedModels are equal, bit for bit."""
    one, two = (tf.train.load_checkpoint(variables(folder)) for folder in (model, other))
    names = set(one.get_variable_to_shape_map())
    if names != set(two.get_variable_to_shape_map()):
        return False
    return all(
        _same_bits(one.get_tensor(name), two.get_tensor(name)) for name in names - {_OBJECT_GRAPH}
    )


def serving_digest(model: str) -> str:
    """SHA-256 in hex of what the signatures of a SavedModel compute, whatever its names are."""
    saved_model = saved_model_pb2.SavedModel()
    with tf.io.gfile.GFile(os.path.join(model, versions.SAVED_MODEL), "rb") as file:
        saved_model.ParseFromString(file.read())
    (meta_graph,) = saved_model.meta_graphs
    return _Digester(meta_graph).digest()


def variables(folder: str) -> str:
    """Prefix of the checkpoint in the folder of a SavedModel."""
    return os.path.join(folder, "variables", "variables")


def _same_bits(one: np.ndarray, two: np.ndarray) -> bool:
    one, two = np.asarray(one), np.asarray(two)
    # Bytes rather than values: NaN equals itself here, and 0 differs from -0.
    return (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes())


class _Digester:
    """Hashes signatures with every node named by its position instead of its name."""

    def __init__(self, meta_graph: meta_graph_pb2.MetaGraphDef):
        self._signatures = meta_graph.signature_def
        self._nodes = meta_graph.graph_def.node
        self._functions = {f.signature.name: f for f in meta_graph.graph_def.library.function}
        self._digests: dict[str, str] = {}

    def digest(self) -> str:
        # The order of the variables in the main graph is that of their checkpoint keys, hence
        # positions are counted in the whole graph and not among the nodes in use.
        positions = {node.name: f"node{i}" for i, node in enumerate(self._nodes)}
        parts = []
        for name, signature in sorted(self._signatures.items()):
            parts.append(name)
            for ends in (signature.inputs, signature.outputs):
                for key, tensor in sorted(ends.items()):
                    shape = tensor.tensor_shape.SerializeToString(deterministic=True).hex()
                    parts += [key, str(tensor.dtype), shape, _renamed(tensor.name, positions)]
            used = self._reachable(tensor.name for tensor in signature.outputs.values())
            parts += self._nodes_parts(used, positions)
        return _hash(parts)

    def _reachable(self, outputs: Iterable[str]) -> list[node_def_pb2.NodeDef]:
        by_name = {node.name: node for node in self._nodes}
        pending = [_node_name(name) for name in outputs]
        reached = set()
        while pending:
            name = pending.pop()
            if name not in reached:
                reached.add(name)
                pending += [_node_name(source) for source in by_name[name].input]
        return [node for node in self._nodes if node.name in reached]

    def _function_digest(self, name: str) -> str:
        if name not in self._digests:
            self._digests[name] = _hash(self._function_parts(self._functions[name]))
        return self._digests[name]

    def _function_parts(self, function: function_pb2.FunctionDef) -> list[str]:
        signature = function.signature
        positions = {arg.name: f"arg{i}" for i, arg in enumerate(signature.input_arg)}
        positions |= {node.name: f"node{i}" for i, node in enumerate(function.node_def)}
        returned = [function.ret[arg.name] for arg in signature.output_arg]
        returned += [function.control_ret[name] for name in signature.control_output]
        return [
            *(str(arg.type) for arg in signature.input_arg),
            *self._nodes_parts(function.node_def, positions),
            *(_renamed(name, positions) for name in returned),
        ]

    def _nodes_parts(
        self, nodes: Iterable[node_def_pb2.NodeDef], positions: Mapping[str, str]
    ) -> list[str]:
        parts = []
        for node in nodes:
            op = self._function_digest(node.op) if node.op in self._functions else node.op
            parts += [positions[node.name], op, node.device]
            parts += [_renamed(source, positions) for source in node.input]
            # The shared name of a variable is for people too; other resources are shared by it.
            hints = _HINTS | {"shared_name"} if node.op == "VarHandleOp" else _HINTS
            for key, value in sorted(node.attr.items()):
                if not key.startswith("_") and key not in hints:
                    parts += [key, self._attribute(value)]
        return parts

    def _attribute(self, value: attr_value_pb2.AttrValue) -> str:
        functions: Sequence[attr_value_pb2.NameAttrList] = value.list.func
        if value.WhichOneof("value") == "func":
            functions = [value.func]
        if functions:
            return _hash(self._function_digest(function.name) for function in functions)
        return value.SerializeToString(deterministic=True).hex()


def _node_name(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _renamed(tensor: str, positions: Mapping[str, str]) -> str:
    name = _node_name(tensor)
    return tensor.replace(name, positions[name], 1)


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()

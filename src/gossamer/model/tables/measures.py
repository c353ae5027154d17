"""The registry of measures: one function for each measure of topics or nodes.

A registered measure needs no other change. Its values are a column of the table `topics` or `nodes`; its figure, one
number for the whole overlay, is in `metrics.json`, `gossamer check`, `gossamer analyse` and the report of a study.

    @topic_measure("link_share", pa.float64(), label="share of all links in a topic, mean over topics")
    def link_share(topics: TopicRange) -> NDArray[np.float64]:
        _, links = topic_components(*topics.arrays, topics.first, topics.last)
        return links / max(len(topics.neighbours) // 2, 1)

The measures of this package are in `simulator/topic_measures.py`. Spark workers and processes of a pool import the
modules of all others by name (`measure_modules`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gossamer.model.arrays.interest import Interest
from gossamer.model.arrays.overlay import Overlay
from gossamer.model.tables.schemas import SCHEMAS, Schema
from gossamer.model.values.errors import InputError

# One value for each topic or node.
_Column = NDArray[Any]

# The types that a column may have, and their names in Spark.
SPARK_TYPES = {pa.int64(): "bigint", pa.float64(): "double"}
TOPICS, NODES = "topics", "nodes"
# A file of a study's results: figures and their labels.
FIGURES = "figures.json"


@dataclass(frozen=True)
class TopicRange:
    """Topics first..last-1 of an overlay and its interests, as the arrays that kernels take.

    The subscribers of a topic are `topic_nodes[topic_starts[topic]:topic_starts[topic + 1]]`, the neighbours of a node
    are `neighbours[starts[node]:starts[node + 1]]`. Diameters of topics of up to `exact_nodes` subscribers are exact,
    those of larger topics are bounds.
    """

    topic_starts: NDArray[np.int64]
    topic_nodes: NDArray[np.int32]
    starts: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    first: int
    last: int
    exact_nodes: int

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        """The first arguments of every kernel in `kernels/measures.py`."""
        return self.topic_starts, self.topic_nodes, self.starts, self.neighbours

    @property
    def subscribers(self) -> NDArray[np.int64]:
        """The number of subscribers of each topic in the range."""
        return np.diff(self.topic_starts[self.first : self.last + 1])


@dataclass(frozen=True)
class TopicMeasure:
    """A measure of every topic: a function with its columns, and the figures that summarise them."""

    # Column names and their types.
    columns: Mapping[str, pa.DataType]
    # From a range of topics to one array for each column.
    function: Callable[[TopicRange], Sequence[_Column]]
    # From these columns of all topics to figures by name; None where the measure has no figure.
    figures: Callable[[Mapping[str, _Column]], dict[str, Any]] | None = None
    # Figures by name, with the labels under which the report shows them. The report has its own text for ours.
    labels: Mapping[str, str] = field(default_factory=dict)
    # Whether `gossamer analyse --components-only` leaves it out.
    costly: bool = False

    @property
    def module(self) -> str:
        """The module that defines the function."""
        return self.function.__module__


@dataclass(frozen=True)
class NodeMeasure:
    """A measure of every node: a function with its column, and the figure that summarises it."""

    column: str
    type: pa.DataType
    # From an overlay and its interests to one value for each node.
    function: Callable[[Overlay, Interest], _Column]
    # From the values of the nodes that are present to one number.
    summary: Callable[[_Column], float]
    figure: str
    label: str

    @property
    def module(self) -> str:
        """The module that defines the function."""
        return self.function.__module__


_topic_measures: list[TopicMeasure] = []
_node_measures: list[NodeMeasure] = []


def register(measure: TopicMeasure | NodeMeasure) -> None:
    """Add a measure and its columns to the schema of its table. A column that exists already is refused."""
    if isinstance(measure, TopicMeasure):
        _check(measure.columns, {name for each in _topic_measures for name in each.columns} | {"topic"})
        _add_columns(TOPICS, measure.columns)
        _topic_measures.append(measure)
        return
    _check({measure.column: measure.type}, {each.column for each in _node_measures} | {"node"})
    SCHEMAS.setdefault(NODES, Schema(NODES, pa.schema([("node", pa.int64())]), pa.schema([]), ("node",)))
    _add_columns(NODES, {measure.column: measure.type})
    _node_measures.append(measure)


def unregister(column: str) -> None:
    """Remove the measure with this column, such as one that a notebook is about to define again."""
    for found in [each for each in _topic_measures if column in each.columns]:
        _topic_measures.remove(found)
        _remove_columns(TOPICS, found.columns)
    for node_measure in [each for each in _node_measures if each.column == column]:
        _node_measures.remove(node_measure)
        _remove_columns(NODES, (column,))


def topic_measure(
    column: str,
    type: pa.DataType,
    *,
    label: str,
    figure: str = "",
    summary: Callable[[_Column], float] = lambda values: float(np.mean(values)),
    costly: bool = False,
) -> Callable[[Callable[[TopicRange], _Column]], Callable[[TopicRange], _Column]]:
    """Register a function of topics with one column.

    `summary` gives its figure, which is named like the column by default.
    """

    def decorate(function: Callable[[TopicRange], _Column]) -> Callable[[TopicRange], _Column]:
        def columns(topics: TopicRange) -> Sequence[_Column]:
            return (function(topics),)

        columns.__module__ = function.__module__
        name = figure or column
        figures = lambda values: {name: _number(summary, values[column])}  # noqa: E731
        register(TopicMeasure({column: type}, columns, figures, {name: label}, costly))
        return function

    return decorate


def node_measure(
    column: str,
    type: pa.DataType,
    *,
    label: str,
    figure: str = "",
    summary: Callable[[_Column], float] = lambda values: float(np.mean(values)),
) -> Callable[[Callable[[Overlay, Interest], _Column]], Callable[[Overlay, Interest], _Column]]:
    """Register a function of nodes. `summary` gives its figure, which is named like the column by default."""

    def decorate(function: Callable[[Overlay, Interest], _Column]) -> Callable[[Overlay, Interest], _Column]:
        register(NodeMeasure(column, type, function, summary, figure or column, label))
        return function

    return decorate


def topic_measures(costly: bool = True) -> tuple[TopicMeasure, ...]:
    """All measures of topics in the order of their columns; without `costly`, only the cheap ones."""
    return tuple(each for each in _topic_measures if costly or not each.costly)


def node_measures() -> tuple[NodeMeasure, ...]:
    """All measures of nodes in the order of their columns."""
    return tuple(_node_measures)


def topic_figures(columns_of: Callable[[TopicMeasure], Mapping[str, _Column]], costly: bool = True) -> dict[str, Any]:
    """The figures of all measures of topics; `columns_of` gives the columns of a measure for all topics."""
    found: dict[str, Any] = {}
    for each in topic_measures(costly):
        if each.figures is not None:
            found |= each.figures(columns_of(each))
    return found


def node_columns(overlay: Overlay, interest: Interest) -> dict[str, _Column]:
    """The columns of all measures of nodes."""
    return {each.column: np.asarray(each.function(overlay, interest)) for each in _node_measures}


def node_figures(columns: Mapping[str, _Column]) -> dict[str, Any]:
    """The figures of all measures of nodes."""
    return {each.figure: _number(each.summary, columns[each.column]) for each in _node_measures}


def figure_labels() -> dict[str, str]:
    """The figures that have a label, with their labels for the report."""
    labels = {name: label for each in _topic_measures for name, label in each.labels.items()}
    return labels | {each.figure: each.label for each in _node_measures}


def measure_modules() -> tuple[str, ...]:
    """The modules outside this package that define measures. Another process imports them with `load_measures`."""
    modules = sorted({each.module for each in _topic_measures} | {each.module for each in _node_measures})
    others = tuple(module for module in modules if module.partition(".")[0] != "gossamer")
    if "__main__" in others:
        raise InputError("a measure is defined in a script; move it to a module that other processes can import")
    return others


def load_measures(modules: Iterable[str]) -> None:
    """Import the modules that define measures, in a process that another one started."""
    for module in modules:
        import_module(module)


def _number(summary: Callable[[_Column], float], values: _Column) -> float:
    """The figure of a column; 0 where there is no value, as for every other figure."""
    return summary(values) if len(values) else 0.0


def _check(columns: Mapping[str, pa.DataType], taken: set[str]) -> None:
    for name, kind in columns.items():
        if name in taken:
            raise InputError(f"there is a column {name} already; give the measure another name")
        if kind not in SPARK_TYPES:
            raise InputError(f"column {name} must be int64 or float64, got {kind}")


def _add_columns(table: str, columns: Mapping[str, pa.DataType]) -> None:
    """Columns of our own measures are in the schema from the start."""
    schema = SCHEMAS[table]
    known = (*schema.required.names, *schema.optional.names)
    new = [pa.field(name, kind) for name, kind in columns.items() if name not in known]
    SCHEMAS[table] = replace(schema, optional=pa.schema([*schema.optional, *new]))


def _remove_columns(table: str, columns: Iterable[str]) -> None:
    schema = SCHEMAS[table]
    left = [each for each in schema.optional if each.name not in columns]
    SCHEMAS[table] = replace(schema, optional=pa.schema(left))

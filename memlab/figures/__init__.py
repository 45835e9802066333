"""Pictures of memory: the graph page, a still SVG, growth, charts of results, and exports for other programs."""

from memlab.figures.animation import growth_animation
from memlab.figures.chart import Chart
from memlab.figures.charts import (
    budget_chart,
    dot_chart,
    extraction_chart,
    growth_chart,
    line_chart,
    overlap_chart,
)
from memlab.figures.export import graph_ml, graph_network
from memlab.figures.growth import growth_frame, growth_svg
from memlab.figures.inline import GraphView, graph_view
from memlab.figures.memory import memory_chart
from memlab.figures.page import graph_page
from memlab.figures.pipeline import pipeline_chart
from memlab.figures.reliability import reliability_chart, reliability_frame
from memlab.figures.still import graph_svg

__all__ = [
    "Chart",
    "GraphView",
    "budget_chart",
    "dot_chart",
    "extraction_chart",
    "graph_ml",
    "graph_network",
    "graph_page",
    "graph_svg",
    "graph_view",
    "growth_animation",
    "growth_chart",
    "growth_frame",
    "growth_svg",
    "line_chart",
    "memory_chart",
    "overlap_chart",
    "pipeline_chart",
    "reliability_chart",
    "reliability_frame",
]

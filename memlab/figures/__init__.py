"""Pictures of memory: the graph page, a still SVG, growth charts, and exports for other programs."""

from memlab.figures.export import graph_ml, graph_network
from memlab.figures.growth import growth_frame, growth_svg
from memlab.figures.page import graph_page
from memlab.figures.still import graph_svg

__all__ = ["graph_ml", "graph_network", "graph_page", "graph_svg", "growth_frame", "growth_svg"]

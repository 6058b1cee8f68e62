"""What operators do to a shape: a function for each ``ShapeWord`` of the overlay.

Each takes the call and what flows into it and gives what flows out, element type apart. Facts were
tried with DALI 2.4; the tests compare them with what comes out of every operator.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import ShapeWord
from workbench.graph.flow import Word
from workbench.graph.shape_words.axes import AXIS_WORDS
from workbench.graph.shape_words.expressions import EXPRESSION_WORDS
from workbench.graph.shape_words.images import IMAGE_WORDS

WORDS: Mapping[ShapeWord, Word] = {**IMAGE_WORDS, **AXIS_WORDS, **EXPRESSION_WORDS}

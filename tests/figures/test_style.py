"""The palette, measured: contrast after WCAG 2, and colours that stay apart without one kind of cone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from memlab.figures.style import DARK, LIGHT, Theme

# Machado, Oliveira & Fernandes (2009), doi:10.1109/TVCG.2009.113: severity 1.0, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(axis=1)
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_4_5_and_marks_of_3(theme: Theme) -> None:
    for ground in (theme.paper, theme.surface):
        assert min(contrast(c, ground) for c in (theme.ink, theme.muted, theme.accent, theme.failed)) >= 4.5
        assert min(contrast(c, ground) for c in (theme.symptom, theme.cause, theme.solution)) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_columns_and_failure_stay_apart(theme: Theme, blindness: str) -> None:
    # A CIELAB distance of 2.3 is just noticeable; ten times that is told apart at a glance.
    marks = (theme.symptom, theme.cause, theme.solution, theme.failed)
    colours = [lab(BLINDNESS[blindness] @ linear(c)) for c in marks]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(colours, 2)) >= 23

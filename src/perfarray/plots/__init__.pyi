"""The pictures, each named once: the loader reads this file, and so do type checkers."""

from .calibration import rates as rates
from .comparisons.decisions import smallest_changes as smallest_changes
from .comparisons.distribution import distribution as distribution
from .comparisons.intervals import mean_intervals as mean_intervals
from .comparisons.intervals import ratio_intervals as ratio_intervals
from .comparisons.intervals import score_ratios as score_ratios
from .comparisons.stopping import half_widths as half_widths
from .crosscheck import agreement as agreement
from .diagnostics.dependence import against as against
from .diagnostics.dependence import correlogram as correlogram
from .diagnostics.dependence import lag as lag
from .diagnostics.sequences import run_sequence as run_sequence
from .diagnostics.steadiness import steady_kinds as steady_kinds
from .grid import facets as facets
from .histories import history as history
from .machines.explained import explained as explained
from .machines.principal_components import principal_components as principal_components
from .mixtures.distances import distances as distances
from .mixtures.fits import mixture as mixture
from .mixtures.modes import modes as modes
from .mixtures.origins import mode_origins as mode_origins
from .mixtures.overlay import overlay as overlay
from .mixtures.violin import violin as violin
from .pictures import PICTURES as PICTURES
from .pictures import draw as draw
from .quantities import estimates as estimates
from .significance import pvalues as pvalues
from .speedups import protocol as protocol
from .speedups import reported as reported
from .strips import strip as strip
from .suites.distributions import five_numbers as five_numbers
from .suites.distributions import score_densities as score_densities
from .suites.distributions import suite_scores as suite_scores
from .suites.ratio_distributions import ratio_distributions as ratio_distributions
from .suites.required_runs import required_runs as required_runs
from .timings import counts as counts
from .variation.components import variance_components as variance_components
from .variation.plan import plan as plan
from .variation.stability import stability as stability

__all__: list[str]

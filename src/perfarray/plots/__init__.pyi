"""The pictures, each named once: the loader reads this file, and so do type checkers."""

from .calibration import rates as rates
from .comparisons import mean_intervals as mean_intervals
from .comparisons import ratio_intervals as ratio_intervals
from .comparisons import score_ratios as score_ratios
from .crosscheck import agreement as agreement
from .diagnostics.dependence import against as against
from .diagnostics.dependence import correlogram as correlogram
from .diagnostics.dependence import lag as lag
from .diagnostics.sequences import run_sequence as run_sequence
from .diagnostics.sequences import steady_kinds as steady_kinds
from .histograms import distances as distances
from .histograms import distribution as distribution
from .histograms import ratio_distributions as ratio_distributions
from .histograms import score_histogram as score_histogram
from .histories import history as history
from .machines.dendrogram import dendrogram as dendrogram
from .machines.explained import explained as explained
from .machines.heat_map import heat_map as heat_map
from .machines.principal_components import principal_components as principal_components
from .mixtures.fits import mixture as mixture
from .mixtures.modes import mode_origins as mode_origins
from .mixtures.modes import modes as modes
from .mixtures.runs import overlay as overlay
from .mixtures.runs import violin as violin
from .pictures import PICTURES as PICTURES
from .pictures import draw as draw
from .pictures import facets as facets
from .plans import plan as plan
from .profiles import profile as profile
from .quantities import counts as counts
from .quantities import estimates as estimates
from .sample_sizes import half_widths as half_widths
from .sample_sizes import required_runs as required_runs
from .sample_sizes import smallest_changes as smallest_changes
from .significance import pvalues as pvalues
from .speedups import protocol as protocol
from .speedups import reported as reported
from .strips import strip as strip
from .suites import five_numbers as five_numbers
from .suites import relative_variation as relative_variation
from .suites import score_densities as score_densities
from .suites import suite_scores as suite_scores
from .variation import stability as stability
from .variation import variance_components as variance_components

__all__: list[str]

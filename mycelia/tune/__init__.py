"""Hyper-parameter search."""

from mycelia.tune.callback import ReportToTrial as ReportToTrial
from mycelia.tune.pruning import MedianStopping as MedianStopping
from mycelia.tune.records import Record as Record
from mycelia.tune.results import Results as Results
from mycelia.tune.results import load as load
from mycelia.tune.search import search as search
from mycelia.tune.space import choice as choice
from mycelia.tune.space import integer as integer
from mycelia.tune.space import log_uniform as log_uniform
from mycelia.tune.space import uniform as uniform
from mycelia.tune.trial import Trial as Trial
from mycelia.tune.trial import TrialStopped as TrialStopped

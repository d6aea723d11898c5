"""`python -m mycelia.compat script.py`: run a MindSpore script on Mycelia."""

import sys

from mycelia.compat.script_runner import main

sys.exit(main())

"""`python -m gapless …` is `gapless …`."""

import sys

from .cli import main

sys.exit(main())

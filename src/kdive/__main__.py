"""``python -m kdive``."""

from __future__ import annotations

import sys

from kdive.cli import main

sys.exit(main())

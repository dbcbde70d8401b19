"""httpbin for gunicorn: `serve:app`."""

import os
import sys

from httpbin import app as httpbin

sys.path.append(os.environ["PLANT"])
import plant

app = plant.wsgi(httpbin)

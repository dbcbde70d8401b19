"""The site for gunicorn: `serve:app`."""

import os
import sys

from django.core.wsgi import get_wsgi_application

sys.path.append(os.environ["PLANT"])
import plant

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
app = plant.wsgi(get_wsgi_application())

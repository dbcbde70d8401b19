"""The tables of the site and some polls, in the working folder. The same on every machine."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from django.core.management import call_command

from polls.models import Choice, Poll

call_command("migrate", run_syncdb=True, verbosity=0)
if not Poll.objects.exists():
    for n in range(50):
        poll = Poll.objects.create(text=f"Is proposal {n} to be accepted?")
        Choice.objects.bulk_create(
            Choice(poll=poll, text=text, votes=n * 31 % 97) for text in ("Yes", "No", "Later")
        )

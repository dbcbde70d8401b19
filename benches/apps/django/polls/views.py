from django.shortcuts import get_object_or_404, render

from .models import Poll


def latest(request):
    return render(request, "polls/latest.html", {"polls": Poll.objects.order_by("-id")[:10]})


def detail(request, poll):
    return render(request, "polls/detail.html", {"poll": get_object_or_404(Poll, pk=poll)})

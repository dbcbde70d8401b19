from django.urls import path

from polls import views

urlpatterns = [
    path("polls/", views.latest, name="latest"),
    path("polls/<int:poll>/", views.detail, name="detail"),
]

"""The commands that come with the framework; plugins add theirs through `zerogames.commands`."""

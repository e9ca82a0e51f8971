"""The games that the page offers, with their options."""

from zerogames.identity import describe_options
from zerogames.registry import all_plugins
from zerogames.runs.net_source import shipped_identities


def list_games() -> list[dict[str, object]]:
    """Describe every installed game: name, title, options, and the variants with a shipped net."""
    return [
        {
            "name": plugin.name,
            "title": plugin.title,
            "options": [
                {
                    "name": option.name,
                    "default": option.default,
                    "choices": option.choices,
                    "kind": option.kind,
                    "about": option.meaning,
                }
                for option in describe_options(plugin.options)
            ],
            "variants": [
                *shipped_identities(plugin.name),
                *(plugin.members() if plugin.members is not None else ()),
            ],
        }
        for plugin in all_plugins()
    ]

"""What the search finds besides the operators and the nodes: templates, arguments, recipes."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.catalog.prose import first_sentence
from workbench.catalog.spec import Catalog
from workbench.catalog.templates import Template
from workbench.ui.contract.views import ArgumentSearchEntry, RecipeEntry, RecipeLine, TemplateEntry


def template_entries(templates: Iterable[Template]) -> list[TemplateEntry]:
    """Every template."""
    return [
        {
            "name": template.name,
            "label": template.label,
            "synonyms": list(template.synonyms),
            "summary": template.summary,
            "nodes": [node.op for node in template.nodes],
        }
        for template in templates
    ]


def argument_entries(catalog: Catalog, op: str) -> list[ArgumentSearchEntry]:
    """The arguments of an operator; none where there is no such operator."""
    spec = catalog.find(op)
    return [
        {"name": arg.name, "label": arg.label, "summary": first_sentence(arg.doc)}
        for arg in (spec.args.values() if spec else ())
        if not arg.deprecated
    ]


def recipe_lines(recipes: Iterable[RecipeEntry]) -> list[RecipeLine]:
    """The recipes without their pictures."""
    return [{"name": recipe["name"], "line": recipe["line"]} for recipe in recipes]

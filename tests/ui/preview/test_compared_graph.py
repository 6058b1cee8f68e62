"""What the present graph can be compared with."""

import pytest

from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import Document
from workbench.ui.state.compared_graph import MOST_STEPS, ComparedGraphs
from workbench.ui.state.history import History

START = load_recipe("rotate-jitter")
KEPT = Document(load_recipe("cutout"))


@pytest.fixture
def graphs() -> ComparedGraphs:
    found = ComparedGraphs(
        History(START), lambda owner: KEPT if owner == "me" else None, lambda: [("me", "cutout")]
    )
    found.refresh()
    return found


def test_every_choice_leads_to_a_graph(graphs: ComparedGraphs) -> None:
    for seed in (1, 2, 3):
        graphs.history.push(set_setting(graphs.history.now, seed=seed))
    graphs.history.undo()
    graphs.file = "a.json", Document(START)
    choices = graphs.choices()
    seeds = {each["id"]: graphs.find(each["id"]).graph.settings.seed for each in choices}
    assert (seeds["last"], seeds["opened"]) == (1, 42)
    steps = {key: seed for key, seed in seeds.items() if key.startswith("step")}
    assert steps == {"step 3": 3, "step 1": 1, "step 0": 42}, "the present one is not offered"
    labels = {each["id"]: each["label"] for each in choices}
    assert (labels["step 3"], labels["step 0"]) == ("3 · seed to 3 (undone)", "0 · the start")
    assert graphs.find("session me") is KEPT
    assert graphs.find("file").graph is START
    assert graphs.find("recipe simclr").graph.name == "simclr"


def test_of_a_long_history_the_nearest_steps_are_offered(graphs: ComparedGraphs) -> None:
    for seed in range(100, 100 + MOST_STEPS + 5):
        graphs.history.push(set_setting(graphs.history.now, seed=seed))
    steps = [each for each in graphs.choices() if each["id"].startswith("step")]
    assert (steps[0]["id"], steps[-1]["id"]) == (f"step {MOST_STEPS + 4}", "step 5")
    for each in steps[:-1]:
        seed = graphs.find(each["id"]).graph.settings.seed
        assert each["label"].endswith(f"seed to {seed}")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("last", "Nothing was edited yet"),
        ("step 1", "no 'step 1'"),
        ("step x", "no 'step x'"),
        ("recipe nothing", "nothing"),
        ("session other", "there no more"),
        ("file", "no 'file'"),
        ("", "no ''"),
    ],
)
def test_what_is_not_there_says_so(graphs: ComparedGraphs, choice: str, reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        graphs.find(choice)

"""A graph whose steps count in an inbox: begun or gone on with, by `python graph.py URL KEY THREAD [STALLS]`."""

from __future__ import annotations

import operator
import sys
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph

from steadhold.adapters.langgraph import SteadholdSaver
from steadhold.sdk import Client
from tests.adapters.killing import say

STEPS = ("first", "left", "right", "last")


class State(TypedDict):
    seen: Annotated[list[str], operator.add]


def step(client, thread, name, stalls):
    def run(_: State) -> State:
        say(name)
        client.inboxes["counted"].append("step", name, key=f"{thread}:{name}")
        if name == stalls:
            sys.stdin.read()  # until it is killed
        return {"seen": [name]}

    return run


def graph(client, thread, stalls=""):
    """first, then left beside right, then last."""
    made = StateGraph(State)
    for name in STEPS:
        made.add_node(name, step(client, thread, name, stalls))
    made.add_edge(START, "first")
    for beside in ("left", "right"):
        made.add_edge("first", beside)
    made.add_edge(["left", "right"], "last")
    made.add_edge("last", END)
    return made.compile(checkpointer=SteadholdSaver(client))


def main(url, key, thread, stalls=""):
    with Client(url, key) as client:
        config = {"configurable": {"thread_id": thread}}
        made = graph(client, thread, stalls)
        begun = made.get_state(config).values
        told = made.invoke(None if begun else {"seen": []}, config, durability="sync")
    say(" ".join(["told", *told["seen"]]))


if __name__ == "__main__":
    main(*sys.argv[1:])

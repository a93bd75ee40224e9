"""Stack, tree, chain and triggers: what their traits hold, and in a browser what a person sees and clicks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kernels_core import Grammar, GrammarMatcher
from kernels_core.inspect.derivation import call_stack, chain, derivation
from kernels_core.inspect.dispatch import modes
from tests.engine.driver import compiled
from tests.visualizers.bridge import Bridge
from visualizers.host import Host
from visualizers.live_base import LiveView
from visualizers.operations import OperationView
from visualizers.stack import StackView
from visualizers.tree import TreeView
from visualizers.triggers import TriggerView

if TYPE_CHECKING:
    from playwright.sync_api import Page

BYTES = [bytes([byte]) for byte in range(256)]
SUMS = 'root ::= E\nE ::= E "+" E | E "*" E | [0-9]'
TAGS = 'root ::= TagDispatch(("<call=", call), ("<b>", "x"), excludes=("<bad>",))\ncall ::= "w>" [a-z]* "</call>"'


def at(grammar: str, text: bytes) -> GrammarMatcher:
    matcher = GrammarMatcher(compiled(Grammar.from_ebnf(grammar), BYTES))
    assert not text or matcher.accept_string(text)
    return matcher


def views(matcher: GrammarMatcher) -> list[LiveView[Any]]:
    stack, tree, triggers, steps = StackView(), TreeView(), TriggerView(), OperationView()
    stack.show(call_stack(matcher))
    tree.show(derivation(matcher))
    triggers.show(modes(matcher))
    items = matcher.frontier().items
    steps.show(chain(matcher, items[-1]) if items else matcher.operations())
    return [stack, tree, triggers, steps]


# Where the text of each row of the tree begins, by level.
LEFTS = """rows => rows.map((row) => {
  const range = document.createRange();
  range.selectNodeContents(row.querySelector(".label, .text"));
  return [row.getAttribute("aria-level"), range.getBoundingClientRect().left];
})"""


def test_traits_are_plain_and_small() -> None:
    """A step of a long text sends a bounded amount."""
    import json

    matcher = at('root ::= "[" item ("," item)* "]"\nitem ::= [a-z]+', b"[" + b",".join([b"abc"] * 2_000))
    for view in views(matcher):
        traits = {name: getattr(view, name) for name in view.keys}
        assert len(json.dumps(traits)) < 60_000


@pytest.mark.browser
class TestBrowser:
    """Each view in a page."""

    def test_another_stack_is_lit_and_a_click_chooses_a_rule(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view = StackView()
        view.show(call_stack(at(SUMS, b"1+2")))
        bridge = bridged(view)
        expect(page.get_by_test_id("stack-crumbs")).to_have_text("root›E›E")
        page.get_by_test_id("stack-on").click()
        expect(page.get_by_test_id("stack-crumbs")).to_have_text("root›E")
        assert bridge.soon("stack", 1)
        page.get_by_test_id("stack-level").first.click()
        assert bridge.soon("selection", {"rule": "root", "pointer": None})
        view.show(call_stack(at(SUMS, b"1")))
        bridge.push()
        expect(page.get_by_test_id("stack-level")).to_have_count(2)

    def test_levels_and_nodes_carry_their_place_in_the_source(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        stack, tree, matcher = StackView(), TreeView(), at(SUMS, b"1+2")
        found = call_stack(matcher)
        stack.show(found, ["#", *["#/properties/a"] * (len(found.levels) - 1)])
        nodes = derivation(matcher)
        tree.show(nodes, ["#", *[None] * (len(nodes.nodes) - 1)])
        host = Host({"stack": stack, "tree": tree}, selection={"rule": None, "pointer": "#/properties/a/type"})
        bridge = bridged(host)
        levels = page.get_by_test_id("stack-level")
        # What lies at the place that somebody pointed to, or holds it, is lit.
        expect(levels.nth(0)).to_have_attribute("aria-selected", "false")
        expect(levels.nth(1)).to_have_attribute("aria-selected", "true")
        name = levels.nth(1).locator("td").first.locator(".key")
        expect(name).to_have_text("…/properties/a")  # the engine's rule is told on demand
        expect(name).to_have_attribute("title", "rule E")
        expect(page.get_by_test_id("stack-crumbs")).to_have_text("#›…/properties/a")
        page.get_by_test_id("tree-node").first.locator(".label").click()
        assert bridge.soon("shared__selection", {"rule": "root", "pointer": "#"})
        expect(levels.nth(0)).to_have_attribute("aria-selected", "true")
        page.get_by_test_id("tree-node").first.locator(".label").click()
        assert bridge.soon("shared__selection", {"rule": None, "pointer": None})

    def test_the_line_over_the_stack_has_the_names_of_places(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view, found = StackView(), call_stack(at(SUMS, b"1+2"))
        inner = "#/0/function/parameters/properties/city"
        named = {"#": ((), ""), inner: (("get_weather", "arguments", "city"), "string")}
        view.show(found, ["#", *[inner] * (len(found.levels) - 1)], named)
        bridge = bridged(view)
        line = page.get_by_test_id("stack-crumbs")
        expect(line).to_have_text("#›get_weather›arguments›city›string")
        line.get_by_text("get_weather").click()
        assert bridge.soon("selection", {"rule": "E", "pointer": inner})
        view.show(found, ["#"] * len(found.levels), named)
        bridge.push()
        expect(line).to_have_text("#")

    def test_a_deep_stack_opens_at_its_innermost_level_from_the_left(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view = StackView()
        view.show(
            call_stack(at('root ::= "(" root ")" | "a rather long literal, longer than its cell" "x"', b"(" * 40))
        )
        bridged(view)
        page.wait_for_function("() => document.querySelector('.ms-stack .ms-scroll').scrollTop > 0")
        seen = """node => {
          const scroll = node.closest(".ms-scroll");
          const outer = scroll.getBoundingClientRect(), box = node.getBoundingClientRect();
          const whole = (cell) => cell.matches(".read") || cell.scrollWidth <= cell.clientWidth;
          return [scroll.scrollLeft, scroll.scrollWidth <= scroll.clientWidth,
            box.top >= outer.top && box.bottom <= outer.bottom + 1, [...node.cells].every(whole)];
        }"""
        innermost = page.locator("tr.on").last
        expect(innermost).to_contain_text("reads next")
        assert innermost.evaluate(seen) == [0, True, True, True]

    def test_tags_that_may_come_and_ends_of_open_ones_are_named(self, bridged: Callable[..., Bridge]) -> None:
        view = TriggerView()
        view.show(modes(at(TAGS, b"hi <ca")))
        view.tags = {
            "ahead": [{"name": "get_time", "read": 3, "rest": "ll=time>", "pointer": "#/1"}],
            "ends": [{"name": "outer", "ends": ["</a>", "<b>"], "read": 1, "pointer": "#/0"}],
        }
        bridge = bridged(view)
        expect(bridge.page.get_by_test_id("trigger-ahead")).to_have_text("may still come:get_time ll=time> missing")
        expect(bridge.page.get_by_test_id("trigger-end")).to_have_text("outerends with</a><b>1 byte of it read")
        bridge.page.get_by_test_id("trigger-tag").locator("button").click()
        assert bridge.soon("selection", {"rule": None, "pointer": "#/1"})
        assert "outer ends with &lt;/a&gt; or &lt;b&gt;" in view.static_html()

    def test_what_becomes_of_a_beginning_when_the_next_character_does_not_fit(
        self, bridged: Callable[..., Bridge]
    ) -> None:
        grammar = 'root ::= TagDispatch(("<call=", "y"), ("a<x<z", "x"), ("<x<y>", "x"))'
        view = TriggerView()
        view.show(modes(at(grammar, b"hi ")))
        bridge = bridged(view)
        shown = bridge.page.get_by_test_id("trigger-otherwise")
        for text, said in (
            (b"hi <c", "if another character comes, it is plain text again"),
            (b"hi <call", "if another character comes, it is plain text again"),
            (b"hi ", ""),
            (b"hi <<", "if another character comes, it is plain text again"),
            (  # `a<` begins the second, and its end `<` the others
                b"hi <ca<",
                "if another character comes, < at the end still counts, as the beginning of <call=, <x<y>",
            ),
            (b"hi a<x<", "if another character comes, <x< at the end still counts, as the beginning of <x<y>"),
        ):
            view.show(modes(at(grammar, text)))
            bridge.push()
            assert (shown.inner_text() if shown.count() else "") == said
            assert said in view.static_html().replace("&lt;", "<").replace("&gt;", ">")

    def test_an_ambiguous_node_is_flipped(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view, matcher = TreeView(), at(SUMS, b"1+2*3")
        view.show(derivation(matcher))
        bridge = bridged(view)
        expect(page.get_by_test_id("tree-ambiguous")).to_have_text("1 ambiguous node in this tree")
        lefts: dict[str, list[float]] = {}
        for level, left in page.get_by_test_id("tree-node").evaluate_all(LEFTS):
            lefts.setdefault(level, []).append(left)
        assert max(map(len, lefts.values())) > 2
        assert all(max(some) - min(some) < 6 for some in lefts.values()), "siblings begin below each other"
        page.get_by_test_id("tree-flip-on").click()
        assert bridge.soon("wish", {"readings": {"E@0-5": 1}})
        view.show(derivation(matcher, readings=view.wish["readings"]))
        bridge.push()
        expect(page.get_by_text("ambiguous: parse 2 of 2")).to_be_visible()

    def test_a_click_lights_one_node_and_another_panel_all_of_the_rule(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view = TreeView()
        view.show(derivation(at(SUMS, b"1+2*3")))
        bridge = bridged(view)
        rows, lit = page.get_by_test_id("tree-node"), page.locator("[data-testid=tree-node][aria-selected=true]")
        row = rows.filter(has_text="ambiguous")
        row.locator(".label").click()
        assert bridge.soon("selection", {"rule": "E", "pointer": None})
        expect(lit).to_have_count(1)
        expect(row).to_have_attribute("aria-selected", "true")
        row.locator(".label").click()
        expect(lit).to_have_count(0)
        view.selection = {"rule": "E", "pointer": None}  # chosen in another panel
        bridge.push()
        assert lit.count() > 3

    def test_the_tree_is_drawn_and_an_ambiguous_node_is_flipped_there(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view, matcher = TreeView(), at(SUMS, b"1+2*3")
        view.show(derivation(matcher))
        bridge = bridged(view)
        page.get_by_test_id("tree-picture").click()
        nodes = page.locator("[data-testid=tree-rows] g.node")
        expect(nodes).to_have_count(len(view.nodes))
        for place, node in enumerate(view.nodes):
            drawn = page.locator(f"#n{place}")
            expect(drawn).to_contain_text(node["text"] if node["kind"] == "text" else node["label"])
        number = next(place for place, node in enumerate(view.nodes) if node.get("readings"))
        expect(page.locator(f"#n{number}")).to_contain_text("parse 1 of 2")
        page.locator(f"#n{number}").click()
        assert bridge.soon("wish", {"readings": {view.nodes[number]["key"]: 1}})
        page.get_by_test_id("tree-picture").click()
        expect(page.get_by_test_id("tree-node")).to_have_count(len(view.nodes))

    def test_rows_fold_in_the_browser_and_long_lists_in_python(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view, matcher = TreeView(), at('root ::= "\\"" char* "\\""\nchar ::= [a-z]', b'"' + b"x" * 40)
        view.show(derivation(matcher))
        bridge = bridged(view)
        expect(page.get_by_text("40 char folded")).to_be_visible()
        page.locator(".is-fold .sign").click()
        assert bridge.soon("wish", {"unfolded": [view.nodes[-1]["key"]], "folded": []})
        page.locator(".row .sign").first.click()
        expect(page.get_by_test_id("tree-node")).to_have_count(1)

    def test_progress_is_lit_in_the_trie(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view = TriggerView()
        view.show(modes(at(TAGS, b"see <cal")))
        bridge = bridged(view)
        expect(page.get_by_test_id("trigger-sentence")).to_have_text("trigger '<call=': 4 of 6 bytes read")
        page.get_by_test_id("trigger-trie").click()
        expect(page.locator(".cell.lit")).to_have_count(4)
        expect(page.get_by_text("fires after l=")).to_be_visible()
        page.get_by_test_id("trigger-links").click()
        expect(page.get_by_text("every failure link leads back to the start")).to_be_visible()
        view.show(modes(at(TAGS, b"<call=w>ab")))
        bridge.push()
        expect(page.get_by_test_id("trigger-stack")).to_contain_text("<call=")
        expect(page.locator(".cell.lit")).to_have_count(0)

    def test_the_diagram_lights_where_one_is_and_what_is_read_of_a_trigger(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view = TriggerView()
        view.show(modes(at(TAGS, b"see <cal")))
        bridge = bridged(view)
        diagram = page.get_by_test_id("trigger-diagram")
        expect(diagram.locator(".tag.active")).to_have_text("free text")
        expect(diagram.locator(".begin.active .read")).to_have_text("<cal")
        view.show(modes(at(TAGS, b"<call=w>ab")))
        bridge.push()
        expect(diagram.locator(".tag.active")).to_have_count(1)
        expect(diagram.locator(".tag.free.active")).to_have_count(0)
        expect(diagram.locator(".begin.active")).to_have_count(0)
        rule = view.diagram["tags"][0]["rule"]
        diagram.locator("#t0").click()
        assert bridge.soon("selection", {"rule": rule})

    def test_the_diagram_has_the_tags_of_the_source_with_their_ends(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view = TriggerView()
        view.known = [
            {"name": name, "begin": f"<call={name}>", "ends": ["</call>"], "pointer": f"#/{k}"}
            for k, name in enumerate(["weather", "<b>time</b>"])
        ]
        view.show(modes(at(TAGS, b"see <cal")))
        view.tags = {"ahead": [], "ends": [{"name": "<b>time</b>", "ends": ["</call>"], "read": 0, "pointer": "#/1"}]}
        bridge = bridged(view)
        diagram = page.get_by_test_id("trigger-diagram")
        expect(diagram.locator(".tag.active")).to_have_text("<b>time</b>")
        expect(diagram.locator(".end").first).to_have_text("</call>")
        diagram.locator("#t0").click()
        assert bridge.soon("selection", {"rule": None, "pointer": "#/0"})

    def test_in_a_dock_the_sentence_is_cut_and_the_progress_is_on_top(
        self, page: Page, bridged: Callable[..., Bridge]
    ) -> None:
        view = TriggerView()
        view.show(modes(at(TAGS, b"see <cal")))
        bridge = bridged(view)
        expect(page.get_by_test_id("trigger-progress")).to_have_text("4 of 6 read")
        expect(page.get_by_test_id("trigger-position")).to_have_text("after 8 bytes")
        page.evaluate("window.clean(); one.className = 'ms-slot'; one.style.width = '260px'")
        page.evaluate("one.innerHTML = '<div class=ms-part id=inner></div>'; void window.bridge.show('inner')")
        expect(page.get_by_test_id("trigger-position")).to_have_count(0)
        badge = page.get_by_test_id("trigger-sentence")
        view.about = {**view.about, "sentence": "a tag begins: " + "<call=get_the_weather> or " * 4}
        bridge.push()
        expect(badge).to_have_attribute("title", view.about["sentence"])
        bar, box = page.locator(".ms-triggers .ms-bar").bounding_box(), badge.bounding_box()
        assert bar is not None
        assert box is not None
        assert box["x"] + box["width"] <= bar["x"] + bar["width"]
        view.show(modes(at(TAGS, b"see ")))
        bridge.push()
        expect(page.get_by_test_id("trigger-progress")).to_have_count(0)

    def test_an_exclude_that_is_nearly_complete(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view = TriggerView()
        view.show(modes(at(TAGS, b"<bad")))
        bridged(view)
        expect(page.get_by_text("> cannot come next")).to_be_visible()

    def test_a_chain_begins_at_the_start(self, page: Page, bridged: Callable[..., Bridge]) -> None:
        view, matcher = OperationView(), at(SUMS, b"1+2")
        view.show(matcher.operations())
        bridge = bridged(view)
        expect(page.get_by_text("Choose an item")).to_be_visible()
        view.show(chain(matcher, matcher.frontier().items[-1]))
        bridge.push()
        expect(page.get_by_test_id("chain-step").first).to_contain_text("start")

// All views by the names that Python knows them by.  A view is `render({ model, el, host })`: see common.js.
import ablate from "./ablate";
import automaton from "./automaton.js";
import caches from "./caches";
import cockpit from "./cockpit.js";
import compare from "./compare.js";
import examples from "./examples";
import frontier from "./frontier.js";
import kept from "./kept";
import mask from "./mask.js";
import next from "./next.js";
import operations from "./operations.js";
import screen from "./screen";
import source from "./source.js";
import stack from "./stack.js";
import steps from "./steps.js";
import tokens from "./tokens.js";
import tree from "./tree.js";
import triggers from "./triggers.js";
import why from "./why.js";

export const views: Record<string, { render(parts: any): unknown }> = {
  ablate, automaton, caches, cockpit, compare, examples, frontier, kept, mask, next, operations, screen, source, stack, steps, tokens, tree, triggers, why,
};

// Where to look in a drawn automaton so that one sees what the parser does.  Boxes are { left, top, right, bottom }.
// Read on: automaton.js.

const MARGIN = 16; // pixels

export const hull = (all) => ({ left: Math.min(...all.map((one) => one.left)), right: Math.max(...all.map((one) => one.right)),
  top: Math.min(...all.map((one) => one.top)), bottom: Math.max(...all.map((one) => one.bottom)) });

// The largest scale at which `one` has room.
export const fitting = (one, room) => Math.min((room[0] - MARGIN) / (one.right - one.left), (room[1] - MARGIN) / (one.bottom - one.top));

// What to show of `states` (boxes, the innermost last) and the boxes of their rules: all states where they have room at
// scale `least`, else as many as have; and with them as many rules, whole, as have room at scale `small`, or at the scale
// that the states need anyway.  Where the states are so far apart that this is less than `small`, all rules that have room
// at scale `tiny` are shown whole: a box cut at an edge would be no easier to read.
export function aim(states, rules, room, { least, small, tiny }) {
  const all = hull(states), whole = hull([...states, ...rules]);
  if (fitting(all, room) < small && fitting(whole, room) >= tiny) return whole;
  const core = fitting(all, room) >= least ? all : densest(states, room, least);
  const enough = Math.min(small, Math.max(least, fitting(core, room)));
  return [...rules].reverse().reduce((most, one) => {
    const more = hull([most, one]);
    return fitting(more, room) >= enough ? more : most;
  }, core);
}

// As many as there is room for at once, the innermost if there is a choice.
function densest(all, room, scale) {
  const far = (one, other) => Math.hypot(one.left - other.left, one.top - other.top);
  const near = (seed) => [...all].sort((one, other) => far(seed, one) - far(seed, other))
    .reduce((group, one) => (fitting(hull([...group, one]), room) >= scale ? [...group, one] : group), [seed]);
  return hull(all.slice(-60).map(near).reduce((best, group) => (group.length >= best.length ? group : best)));
}

// Whether a box on the stage, in pixels, is seen whole.
export const inRoom = (one, room) => one.left >= 4 && one.right <= room[0] - 4 && one.top >= 4 && one.bottom <= room[1] - 4;

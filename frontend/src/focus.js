// Who has the keys: the desk, from the time one goes into it until one goes elsewhere.
//
// What had the focus may be disabled (a button that leads no further) or drawn anew; the browser then gives the focus to
// nobody.  The desk takes it, and answers a key that was pressed before it could.  In a page that holds nothing but the
// desk it has all keys that no field elsewhere has.
// A field that nobody reads any more (no kernel) takes no letters: those that would have been its text go nowhere else,
// neither to the desk's keys nor to JupyterLab's, and `mute()` is called to say so.
// Read on: dock.js (the desk and its keys).
const nobody = () => [document.body, document.documentElement, null].includes(document.activeElement);
const typed = ({ key, ctrlKey, metaKey, altKey }) => !ctrlKey && !metaKey && !altKey && (key.length === 1 || ["Enter", "Backspace", "Delete"].includes(key));

// `pressed(event)`: the desk's keys; `dead(node)`: whether `node` is in a field that nobody reads.  Returns what undoes it.
export function keepFocus(desk, host, { pressed, dead, mute }) {
  const undo = [];
  const listen = (target, event, handler) => {
    target.addEventListener(event, handler, true);
    undo.push(() => target.removeEventListener(event, handler, true));
  };
  let ours = host.page;
  const take = () => { if (ours && nobody() && document.hasFocus()) desk.focus({ preventScroll: true }); };
  const soon = () => setTimeout(take);
  const went = ({ target }) => { ours = host.page || desk.contains(target); };
  listen(document, "focusin", went);
  listen(document, "pointerdown", went);
  listen(desk, "focusout", ({ relatedTarget }) => { if (!relatedTarget) soon(); });
  for (const event of ["placed", "answered"]) host.on(event, soon);
  // Before the document's own listeners, of which JupyterLab's is one.
  listen(window, "keydown", (event) => {
    if (desk.contains(event.target) && dead(event.target) && typed(event)) {
      event.preventDefault();
      event.stopPropagation();
      mute();
    } else if (ours && nobody()) {
      desk.focus({ preventScroll: true });
      pressed(event);
    }
  });
  return () => { while (undo.length) undo.pop()(); };
}

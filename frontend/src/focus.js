// Who has the keys: the screen, from the time one goes into it until one goes elsewhere.
//
// What had the focus may be disabled (a button that leads no further) or drawn anew; the browser then gives the focus to
// nobody.  The screen takes it, and answers a key that was pressed before it could.  In a page that holds nothing but the
// screen it has all keys that no field elsewhere has.
// Read on: stage.ts.
const nobody = () => [document.body, document.documentElement, null].includes(document.activeElement);

// Returns what undoes it.
export function keepFocus(screen, host) {
  const undo = [];
  const listen = (target, event, handler) => {
    target.addEventListener(event, handler, true);
    undo.push(() => target.removeEventListener(event, handler, true));
  };
  let ours = host.page;
  const take = () => { if (ours && nobody() && document.hasFocus()) screen.focus({ preventScroll: true }); };
  const soon = () => setTimeout(take);
  const went = ({ target }) => { ours = host.page || screen.contains(target); };
  listen(document, "focusin", went);
  listen(document, "pointerdown", went);
  listen(screen, "focusout", ({ relatedTarget }) => { if (!relatedTarget) soon(); });
  for (const event of ["placed", "answered"]) host.on(event, soon);
  // Before the document's own listeners, of which JupyterLab's is one.
  listen(window, "keydown", (event) => {
    if (!ours || !nobody()) return;
    screen.focus({ preventScroll: true });
    if (screen.dispatchEvent(new KeyboardEvent("keydown", event))) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return () => { while (undo.length) undo.pop()(); };
}

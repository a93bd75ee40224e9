// The page's own request: a prompt, and tools or a schema.  Its answer streams, and stands in the list as any other does.
// Read on: service.js (who shows the text, the frontier and the mask meanwhile), workbench/serving/chat.py (the fields).
import { button, h, many, number, put } from "./common.js";

const area = (name: string, rows: number, placeholder: string) =>
  h("textarea", { rows, placeholder, spellcheck: "false", "aria-label": name, "data-testid": `ask-${name}` });

export function ask(name: string) {
  const prompt = area("prompt", 2, "what is asked"), tools = area("tools", 3, "tools, a JSON array"), schema = area("schema", 3, "a JSON Schema");
  const most = h("input", { type: "number", min: 1, value: 200, "aria-label": "tokens at most", "data-testid": "ask-most" });
  const said = h("span", { class: "ms-grow", role: "status", "data-testid": "ask-said" });
  const code = h("pre", { hidden: true, tabindex: "0", "data-testid": "ask-code" });
  let going: AbortController | null = null, written = "";

  const json = (field: HTMLTextAreaElement) => {
    try { return JSON.parse(field.value); } catch (error) { throw new Error(`${field.placeholder}, is wanted: ${(error as Error).message}`); }
  };
  const body = () => ({
    model: name, stream: true, max_tokens: Number(most.value), messages: [{ role: "user", content: prompt.value }],
    ...tools.value.trim() && { tools: json(tools), tool_choice: "required" },
    ...schema.value.trim() && { response_format: { type: "json_schema", json_schema: { name: "answer", schema: json(schema) } } },
  });

  async function send() {
    going?.abort();
    const mine = going = new AbortController(), began = performance.now();
    stop.disabled = false;
    written = "";
    try {
      const answer = await fetch("/v1/chat/completions",
        { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ...body(), stream_options: { include_usage: true } }), signal: mine.signal });
      if (!answer.ok) throw new Error((await answer.json()).error.message);
      let pieces = 0, tokens = 0, reason = "", rest = "";
      const rate = (count: number) => `${number(Math.round(1000 * count / (performance.now() - began)))} tokens per second`;
      for (const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader(); ;) {
        const { value, done } = await reader.read();
        if (done) break;
        const events = (rest + value).split("\n\n");
        rest = events.pop()!;
        for (const event of events.filter((one) => one.startsWith("data: {"))) {
          const { choices, usage, error } = JSON.parse(event.slice(6));
          if (error) throw new Error(error.message);
          pieces += 1;
          written += choices?.[0]?.delta?.content ?? "";
          reason = choices?.[0]?.finish_reason ?? reason;
          tokens = usage?.completion_tokens ?? tokens;
        }
        put(said, `writing: ${many(pieces, "piece")}`);
      }
      put(said, `${reason}: ${many(tokens, "token")}, ${rate(tokens)}`);
    } catch (error) {
      if (going === mine) put(said, mine.signal.aborted ? "stopped" : String((error as Error).message));
    } finally {
      if (going === mine) stop.disabled = true;
    }
  }

  // The explorer runs in a notebook, so what opens it there is shown; a JSON string is a Python literal, too.
  const open = () => {
    const source = tools.value.trim() || schema.value.trim();
    const read = written && !tools.value.trim() ? `.session.read(${JSON.stringify(written)})` : "";
    put(code, `import workbench as wb\n\nexplorer = wb.explore(${source && JSON.stringify(source)})\n${read && `explorer${read}\n`}explorer`);
    code.hidden = !code.hidden;
  };
  const stop = button("■ Stop", "ends the request", "ask-stop", () => going?.abort());
  stop.disabled = true;
  return h("details", { class: "ask", "data-testid": "ask" }, h("summary", {}, "ask the model"),
    h("div", { class: "fields" }, prompt, tools, schema),
    h("div", { class: "ms-bar" }, button("▶ Send", "sends this request", "ask-send", send), stop, h("label", {}, "at most ", most), said,
      button("open in the explorer", "the lines that open it in a notebook", "ask-open", open)), code);
}

// How many times slower something is, by metric, as dots with intervals on a logarithmic scale: a picture of its own, for a
// page and for a file.
// Read on: ablate.ts, workbench/comparing/ablating.py (what is measured).

export type Effect = [without: string, metric: string, us: number | null, ratio: number | null, low: number | null, high: number | null, refused: string];
const ROW = 22, HEAD = 48, FOOT = 42, NAME = 160, PLOT = 92, TOLD = 104, GAP = 12;
import { escape, micros } from "./run";

export const times = (ratio: number): string => `×\u2009${ratio >= 100 ? Math.round(ratio).toLocaleString("en-US") : ratio.toPrecision(ratio >= 10 ? 3 : 2)}`;

// `whole`: microseconds of the whole engine, by metric.
export function intervals(metrics: [string, string][], effects: Effect[], whole: Record<string, number | null> = {}): string {
  const names = [...new Set(effects.map(([without]) => without))], wide = NAME + metrics.length * (PLOT + TOLD + GAP), bottom = HEAD + names.length * ROW, out: string[] = [];
  out.push(`<text x="0" y="14" font-weight="600">without</text>`);
  names.forEach((name, row) => {
    const y = HEAD + (row + 0.5) * ROW;
    out.push(`<text x="0" y="${y + 4}">${escape(name)}</text>`, `<line x1="0" x2="${wide}" y1="${y + ROW / 2}" y2="${y + ROW / 2}" stroke="currentColor" opacity="0.12"/>`);
  });
  metrics.forEach(([metric, title], column) => {
    const left = NAME + column * (PLOT + TOLD + GAP), mine = effects.filter(([, of]) => of === metric);
    const known = mine.flatMap(([, , , ratio, low, high]) => [ratio, low, high]).filter((one): one is number => one != null && one > 0);
    // An interval may be wider than anything that was measured: the scale is that of the dots, and a decade more.
    const dots = mine.flatMap(([, , , ratio]) => (ratio == null ? [] : [ratio]));
    const low = Math.log10(Math.max(Math.min(0.8, ...known), Math.min(0.8, ...dots) / 10)), high = Math.log10(Math.min(Math.max(1.25, ...known), 10 * Math.max(1.25, ...dots)));
    const x = (ratio: number) => left + 4 + ((PLOT - 8) * (Math.min(high, Math.max(low, Math.log10(ratio))) - low)) / (high - low);
    const every = Math.ceil((Math.floor(high) - Math.ceil(low) + 1) / 3);
    out.push(`<text x="${left}" y="14" font-weight="600">${escape(title)}</text>`, whole[metric] ? `<text x="${left}" y="30" font-size="11">${micros(whole[metric]!)} with everything</text>` : "", `<line x1="${x(1)}" x2="${x(1)}" y1="${HEAD - 8}" y2="${bottom}" stroke="currentColor" opacity="0.45" stroke-dasharray="3 3"/>`);
    for (let power = Math.ceil(low); power <= Math.floor(high); power += every)
      out.push(`<text x="${x(10 ** power)}" y="${bottom + 15}" text-anchor="middle" font-size="11" opacity="0.7">${power < 0 ? 10 ** power : (10 ** power).toLocaleString("en-US")}</text>`);
    for (const [without, , us, ratio, from, to, refused] of mine) {
      const y = HEAD + (names.indexOf(without) + 0.5) * ROW, told = left + PLOT + 8;
      if (refused || ratio == null) { out.push(`<text x="${told}" y="${y + 4}" font-size="11" opacity="0.7">${refused ? "refused" : "not yet"}<title>${escape(refused)}</title></text>`); continue; }
      const sure = from != null && to != null, far = sure && (from > 1 || to < 1);
      out.push(`<g><title>${(us ?? 0).toPrecision(3)} µs${sure ? `, ${times(from)} to ${times(to)} in 95 of 100 such measurements` : ", measured once"}</title>`,
        sure ? `<line x1="${x(from)}" x2="${x(to)}" y1="${y}" y2="${y}" stroke="#4274ec" stroke-width="2"/>` : "",
        `<circle cx="${x(ratio)}" cy="${y}" r="4.5" fill="${far ? "#4274ec" : "none"}" stroke="#4274ec" stroke-width="1.5"/>`,
        `<text x="${told}" y="${y + 4}" font-size="12">${times(ratio)}${sure ? `<tspan font-size="10" opacity="0.65"> ${to > 100 * from ? "unsure" : `${times(from).slice(2)}–${times(to).slice(2)}`}</tspan>` : ""}</text></g>`);
    }
  });
  out.push(`<text x="${wide}" y="${bottom + 34}" text-anchor="end" font-size="11" opacity="0.7">times slower than with everything; filled dot: the 95 % interval excludes 1</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${bottom + FOOT}" width="${wide}" height="${bottom + FOOT}" font-family="system-ui, sans-serif" font-size="12" fill="currentColor" color="#1d2126">${out.join("")}</svg>`;
}

// What the first screen knows of a run, as pure functions: where a character lies, where a track leads, how a run plays.
// Read on: screen.ts, workbench/screen/state.py (what makes it).

export type Token = [text: string, how: string, mask: string, us: number, told: string, sure: number | null];
export type Part = [name: string, hue: string, count: number];
export interface Text { tokens: Token[]; parts: Part[]; refused: string }

export const HOWS = ["agreed", "pushed", "overruled", "forced"] as const;
// What the grammar did to the model where a token was taken.
export const TOLD: Record<string, string> = {
  agreed: "the model gave nearly all of its probability to what the grammar allows",
  pushed: "the grammar took more than a tenth of the model's probability away, and left its favourite",
  overruled: "the model's favourite was refused",
  forced: "the grammar left one choice",
};
export const MASKS = ["found", "put together", "made"] as const;

// The number of the token that holds the character at `offset`; behind the last one, their count.
export function tokenAt(tokens: Token[], offset: number): number {
  let end = 0;
  for (const [number, [text]] of tokens.entries()) {
    end += text.length;
    if (offset < end) return number;
  }
  return tokens.length;
}

// The place at a fraction of a track that shows `count` tokens side by side.
export const placeAt = (count: number, fraction: number): number => Math.max(0, Math.min(count, Math.floor(fraction * count)));

// The height of a bar, from 0 to 1: microseconds on a logarithmic scale, from 0.1 to 10,000.
export const height = (us: number): number => (us <= 0 ? 0 : Math.max(0.06, Math.min(1, (Math.log10(us) + 1) / 5)));

// How long a token is looked at while a run plays: longer where the model was overruled.
export function pause(tokens: Token[], place: number): number {
  return tokens[place]?.[1] === "overruled" ? 1100 : tokens[place]?.[1] === "pushed" ? 260 : 110;
}

// The sum of the times that are known, and how many masks came in each way.
export function costs(tokens: Token[]): { us: number; counts: number[] } {
  const known = tokens.filter(([, , mask]) => mask);
  return { us: known.reduce((sum, [, , , us]) => sum + us, 0), counts: MASKS.map((name) => known.filter(([, , mask]) => mask === name).length) };
}

// Where a place lies on a track, in percent of it: on one of parts, which end where the grammar refuses, by their count.
export const counted = (parts: Part[]): number => Math.max(1, parts.reduce((all, [, , length]) => all + length, 0));

// Never all or nothing where that is not so.
export const percent = (share: number | null): string => share == null ? "–" : share === 0 || share === 1 ? `${100 * share} %` : share < 0.001 ? "<0.1 %" : share >= 0.9995 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
export const micros = (us: number): string => (us >= 1000 ? `${(us / 1000).toFixed(1)} ms` : us >= 10 ? `${Math.round(us)} µs` : us > 0 && us < 0.05 ? "<0.1 µs" : `${us.toFixed(1)} µs`);

// A run as a picture in a file: the text in lines, coloured, with the cost of each token below it.
const INK: Record<string, string> = { agreed: "#009e73", pushed: "#e69f00", overruled: "#d55e00", forced: "#808890", free: "#3b4250", typed: "#3b4250", refused: "#b3261e" };
const WIDTH = 88;
export const escape = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
export function figure({ tokens }: Text): string {
  const out: string[] = [];
  let column = 0, line = 0;
  for (const [text, how, mask, us, told] of tokens) {
    for (const piece of text.split(/(?<=\n)/)) {
      const shown = piece.replace("\n", "↵").replaceAll(" ", "\u00a0");
      if (column + shown.length > WIDTH) { column = 0; line += 1; }
      const [x, y] = [12 + 9 * column, 30 + 34 * line];
      out.push(`<g><title>${escape(told)}</title><rect x="${x}" y="${y - 15}" width="${9 * shown.length}" height="20" fill="${INK[how]}" opacity="0.16"/>`,
        `<text x="${x}" y="${y}" fill="#1d2126">${escape(shown)}</text>`,
        mask ? `<rect x="${x}" y="${y + 7 + 7 * (1 - height(us))}" width="${Math.max(2, 9 * shown.length - 1)}" height="${7 * height(us)}" fill="${INK[how]}"/>` : "", "</g>");
      column += shown.length;
      if (piece.endsWith("\n")) { column = 0; line += 1; }
    }
  }
  const [wide, high] = [24 + 9 * WIDTH, 70 + 34 * line];
  const legend = HOWS.map((how, at) => `<rect x="${12 + 110 * at}" y="${high - 20}" width="10" height="10" fill="${INK[how]}"/><text x="${27 + 110 * at}" y="${high - 11}" font-size="12">${how}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${high}" width="${wide}" height="${high}" font-family="monospace" font-size="15"><rect width="100%" height="100%" fill="#fff"/>${out.join("")}${legend.join("")}</svg>`;
}

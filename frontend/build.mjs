// Bundles the front end into ../visualizers/bundle: `npm run build`, or `make build`, which does it where sources changed.
//
//   main.js     the views and what stands between them and Python; with the style sheet
//   editor.js   CodeMirror, which is asked for where a source is shown
//   graphviz.js Graphviz as WebAssembly, which is asked for where a graph is drawn
//   widget.js   what a widget carries itself: it finds these in the page
//   page.js     the same for a page without Python, into which they are written
//   service.js  the page of a server
//   page.css, svg.css   style sheets of the server's page and of pictures in files
//   licences.txt   of the packages that are in these
import { build } from "esbuild";
import { fileURLToPath } from "node:url";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(here, "../visualizers/bundle");
const common = { bundle: true, minify: true, charset: "utf8", target: "es2022", logLevel: "warning", absWorkingDir: here, legalComments: "none" };

// The style sheets by what they are for: of the views, of the server's page, and of pictures in files of their own.
const SHEETS = {
  style: "theme base host frame stage frontier operations steps picture ablate automaton tokens mask caches cockpit compare examples kept next source stack tree triggers why screen",
  page: "theme base frame frontier service",
  svg: "theme picture",
};
const sheet = async (name) => {
  const contents = SHEETS[name].split(" ").map((one) => `@import "./${one}.css";`).join("\n");
  return (await build({ ...common, stdin: { contents, loader: "css", resolveDir: path.join(here, "src") }, write: false })).outputFiles[0].text;
};
// `import sheet from "sheet:style"` is that sheet as a text.
const sheets = {
  name: "sheets",
  setup(now) {
    now.onResolve({ filter: /^sheet:/ }, ({ path: name }) => ({ path: name.slice(6), namespace: "sheet" }));
    now.onLoad({ filter: /./, namespace: "sheet" }, async ({ path: name }) => ({ contents: await sheet(name), loader: "text" }));
  },
};

await rm(out, { recursive: true, force: true });
const made = await build({
  ...common,
  metafile: true,
  entryPoints: ["src/main.ts", "src/editor.js", "src/graphviz.ts", "src/widget.ts", "src/page.ts", "src/service.js"]
    .map((file) => ({ in: file, out: path.basename(file).replace(/\.\w+$/, "") })),
  outdir: out,
  format: "esm",
  plugins: [sheets],
});

for (const name of ["page", "svg"]) await writeFile(path.join(out, `${name}.css`), await sheet(name));

// Which packages are inside, by the files that were read.
const packages = new Set(Object.keys(made.metafile.inputs).flatMap((file) => file.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? []));
const told = await Promise.all([...packages].sort().map(async (name) => {
  const folder = path.join(here, "node_modules", name), about = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${about.version}: ${about.license}\n${file ? `\n${await readFile(path.join(folder, file), "utf8")}` : ""}`;
}));
const { graphvizVersion } = await import("@viz-js/viz");
told.push(`Graphviz ${graphvizVersion}, compiled to WebAssembly within @viz-js/viz: Eclipse Public License, https://graphviz.org/license/\nIts source: https://gitlab.com/graphviz/graphviz\n`);
await writeFile(path.join(out, "licences.txt"), told.join(`\n${"-".repeat(80)}\n\n`));

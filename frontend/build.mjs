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

// `import sheet from "./style.css"` is the sheet as a text, with what it imports.
const sheets = {
  name: "sheets",
  setup(now) {
    now.onLoad({ filter: /style\.css$/ }, async ({ path: file }) => {
      const made = await build({ ...common, entryPoints: [file], write: false });
      return { contents: made.outputFiles[0].text, loader: "text" };
    });
  },
};

await rm(out, { recursive: true, force: true });
const made = await build({
  ...common,
  metafile: true,
  entryPoints: ["src/main.ts", "src/editor.js", "src/graphviz.ts", "src/widget.ts", "src/page.ts", "src/service.js", "src/page.css", "src/svg.css"]
    .map((file) => ({ in: file, out: path.basename(file).replace(/\.\w+$/, "") })),
  outdir: out,
  format: "esm",
  plugins: [sheets],
});

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

// Bundles each component into one self-contained ES module: ../static/<name>.js.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

/** The modules that are a component: they say so by `export default component(...)`. */
const COMPONENTS = readdirSync("src")
  .filter((file) => /\.tsx?$/.test(file))
  .filter((file) => readFileSync(`src/${file}`, "utf8").includes("export default component("));
const TARGET = ["chrome114", "firefox125", "safari17"];

/** Style sheets become text, minified and with their imports inlined. */
const cssAsText = {
  name: "css-as-text",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const css = await build({
        entryPoints: [path],
        bundle: true,
        minify: true,
        write: false,
        target: TARGET,
      });
      return { contents: css.outputFiles[0].text, loader: "text" };
    });
  },
};

const { metafile } = await build({
  entryPoints: COMPONENTS.map((file) => `src/${file}`),
  outdir: "../static",
  bundle: true,
  minify: true,
  format: "esm",
  target: TARGET,
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  // React Flow asks for React and runs on Preact's likeness of it; tsconfig.json says the same.
  alias: {
    react: "preact/compat",
    "react-dom": "preact/compat",
    "react/jsx-runtime": "preact/jsx-runtime",
  },
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "info",
  metafile: true,
  plugins: [cssAsText],
});

// The licences of the packages that are bundled ask to go along with them.
const folders = Object.keys(metafile.inputs).map(
  (path) => /^(node_modules\/(@[^/]+\/)?[^/]+)/.exec(path)?.[1],
);
const licences = [...new Set(folders)].sort().flatMap((folder) => {
  const file = ["LICENSE", "LICENSE.md"].map((name) => `${folder}/${name}`).find(existsSync);
  return folder && file
    ? [`${folder.replace("node_modules/", "")}\n\n${readFileSync(file, "utf8").trim()}\n`]
    : [];
});
writeFileSync("../static/LICENSES.txt", licences.join(`\n${"-".repeat(72)}\n\n`));

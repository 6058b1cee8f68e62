// Bundles each component into one self-contained ES module: ../static/<name>.js.
import { build } from "esbuild";

const COMPONENTS = ["bar", "canvas", "inspector", "tabs", "preview", "speed", "code", "data"];
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

await build({
  entryPoints: COMPONENTS.map((name) => `src/${name}.ts`),
  outdir: "../static",
  bundle: true,
  minify: true,
  format: "esm",
  target: TARGET,
  charset: "utf8",
  legalComments: "none",
  logLevel: "info",
  plugins: [cssAsText],
});

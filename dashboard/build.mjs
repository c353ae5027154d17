// Bundles the libraries into the package, with their licences. Only `make dashboard-libraries` runs this.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const target = "../src/gossamer/web/static/";
const options = { bundle: true, minify: true, format: "esm", legalComments: "none", target: "es2022", logLevel: "warning" };

await build({
  ...options,
  stdin: {
    contents: `
      export { default as Sigma } from "sigma";
      export { EdgeLineProgram, NodeCircleProgram, NodePointProgram } from "sigma/rendering";
      export { default as Graph } from "graphology";`,
    resolveDir: ".",
  },
  outfile: `${target}vendor-graph.js`,
});
await build({
  ...options,
  stdin: {
    contents: `export { forceSimulation, forceManyBody, forceLink, forceX, forceY } from "d3-force";`,
    resolveDir: ".",
  },
  outfile: `${target}vendor-force.js`,
});

const packages = {
  sigma: "LICENSE.txt",
  graphology: "LICENSE.txt",
  "graphology-utils": "LICENSE.txt",
  events: "LICENSE",
  "d3-force": "LICENSE",
  "d3-dispatch": "LICENSE",
  "d3-quadtree": "LICENSE",
  "d3-timer": "LICENSE",
};
const parts = Object.entries(packages).map(([name, file]) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/${file}`, "utf8").trim()}\n`;
});
writeFileSync(`${target}vendor-licences.txt`, parts.join("\n----\n\n"));

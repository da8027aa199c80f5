// `node scripts/build.mjs [--tests] [--production]`: bundles the extension to dist/, the tests to out/.
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';

const production = process.argv.includes('--production');
const common = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode', 'mocha'],
  logLevel: 'warning',
};

await build({
  ...common,
  entryPoints: { extension: 'src/extension.ts', uninstall: 'src/uninstall.ts' },
  outdir: 'dist',
  minify: production,
  sourcemap: production ? false : 'linked',
});
if (process.argv.includes('--tests')) {
  for (const folder of ['unit', 'host', 'untrusted', 'multiroot', 'prompts']) {
    const entryPoints = readdirSync(`test/${folder}`)
      .filter(name => name.endsWith('_test.ts') || name === 'index.ts')
      .map(name => `test/${folder}/${name}`);
    // Unit tests run without an editor: they need no more of it than its texts.
    const alias = folder === 'unit' ? { vscode: './test/unit/editor_texts.ts' } : {};
    if (entryPoints.length) await build({ ...common, alias, entryPoints, outdir: `out/${folder}`, sourcemap: 'inline' });
  }
}

// `node scripts/package.mjs [--target linux-x64]`: the .vsix for one platform, with the server that bundle_server.mjs laid ready.
import { createVSIX } from '@vscode/vsce';
import { build } from 'esbuild';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** What a person waits for who installs the extension: without a Python, and with one. */
const LARGEST_MB = { online: 32, offline: 80 };

const { values } = parseArgs({ options: { target: { type: 'string', default: `${process.platform}-${process.arch}` } } });
if (!existsSync('bundled/libs/common/carrel'))
  throw new Error('lay the server ready first: npm run bundle-server -- --source (or --wheel FILE)');

const { metafile } = await build({
  entryPoints: { extension: 'src/extension.ts' },
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  external: ['vscode'],
  minify: true,
  metafile: true,
  logLevel: 'warning',
});
writeFileSync('THIRD_PARTY.md', notices(Object.keys(metafile.inputs)));
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const kind = existsSync('bundled/python') ? 'offline' : 'online';
const packagePath = `carrel-${values.target}-${manifest.version}${kind === 'offline' ? '-offline' : ''}.vsix`;
await createVSIX({
  target: values.target,
  packagePath,
  dependencies: false,
  skipLicense: true,
  allowMissingRepository: true,
  rewriteRelativeLinks: false,
});

const megabytes = statSync(packagePath).size / 1e6;
if (megabytes > LARGEST_MB[kind]) throw new Error(`${packagePath} has ${megabytes.toFixed(1)} MB: more than ${LARGEST_MB[kind]}`);

/** The licences of the npm packages in the bundle. Python packages bring theirs in their dist-info. */
function notices(inputs) {
  const packages = [...new Set(inputs.flatMap(file => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []))].sort();
  const parts = packages.map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry));
    return `## ${name} ${version} (${license})\n\n${file ? readFileSync(`${folder}/${file}`, 'utf8').trim() : ''}\n`;
  });
  return `# Third-party software in this extension\n\nThe Python packages' licences are in \`bundled/libs/**/*.dist-info\`, Python's in \`bundled/python\`.\n\n${parts.join('\n')}`;
}

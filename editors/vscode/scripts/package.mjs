// `node scripts/package.mjs [--target linux-x64] [--quick]`: the .vsix for one platform, with the server that bundle_server.mjs laid ready, as one
// archive: what is alike in the modules for the Python versions stands there once, and Brotli finds more than a .vsix's own Deflate.
import { createVSIX } from '@vscode/vsce';
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { constants, createBrotliCompress } from 'node:zlib';
import { create } from 'tar';

/** What a person waits for who installs the extension: without a Python, and with one. */
const LARGEST_MB = { online: 20.5, offline: 70 };

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
    // For tests: packed in seconds instead of minutes, and some MB larger.
    quick: { type: 'boolean', default: false },
  },
});
if (!existsSync('bundled/libs/common/carrel'))
  throw new Error('lay the server ready first: npm run bundle-server -- --source (or --wheel FILE)');

const { metafile } = await build({
  entryPoints: { extension: 'src/extension.ts', uninstall: 'src/uninstall.ts' },
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
await packServer();
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
if (!values.quick && megabytes > LARGEST_MB[kind])
  throw new Error(`${packagePath} has ${megabytes.toFixed(1)} MB: more than ${LARGEST_MB[kind]}`);

/** bundled/libs.tar.br, and its SHA-256 in bundled/libs.json. */
async function packServer() {
  const libraries = 'bundled/libs';
  const files = readdirSync(libraries, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath}/${entry.name}`.replaceAll('\\', '/').slice(libraries.length + 1));
  // Modules for the Python versions side by side, so that the compressor sees that they are alike.
  const rank = file => file.slice(file.indexOf('/') + 1);
  files.sort((a, b) => (rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : a < b ? -1 : 1));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: values.quick ? 9 : constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  };
  const archive = 'bundled/libs.tar.br';
  const tar = create({ cwd: libraries, portable: true, mtime: new Date(315_532_800_000), noDirRecurse: true }, files);
  await pipeline(tar, createBrotliCompress({ params }), createWriteStream(archive));
  const hash = createHash('sha256');
  await pipeline(createReadStream(archive), hash);
  writeFileSync('bundled/libs.json', JSON.stringify({ sha256: hash.digest('hex') }));
}

/** The licences of the npm packages in the bundle. Python packages bring theirs in their dist-info. */
function notices(inputs) {
  const packages = [...new Set(inputs.flatMap(file => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []))].sort();
  const parts = packages.map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry));
    return `## ${name} ${version} (${license})\n\n${file ? readFileSync(`${folder}/${file}`, 'utf8').trim() : ''}\n`;
  });
  return `# Third-party software in this extension\n\nThe Python packages' licences are in \`bundled/libs.tar.br\`, in its folders \`*.dist-info\`, Python's in \`bundled/python\`.\n\n${parts.join('\n')}`;
}

// Puts the server with all that it needs under bundled/libs, so that the extension works without a network:
//   common/   Carrel, and what is the same for all     cp3xx/   what is compiled for one Python version
// node scripts/bundle_server.mjs (--wheel FILE | --source) [--target linux-x64] [--python PROGRAM]
// --source takes the repository's own python/carrel with the module that was built in place.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    wheel: { type: 'string' },
    source: { type: 'boolean' },
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
    python: { type: 'string', default: process.env.PYTHON ?? 'python3' },
  },
});
if (!values.wheel === !values.source) throw new Error('give --wheel FILE or --source');

const VERSIONS = ['3.11', '3.12', '3.13', '3.14'];
const PLATFORMS = {
  'linux-x64': ['manylinux_2_28_x86_64', 'manylinux_2_17_x86_64', 'manylinux2014_x86_64'],
  'linux-arm64': ['manylinux_2_28_aarch64', 'manylinux_2_17_aarch64', 'manylinux2014_aarch64'],
  'darwin-x64': ['macosx_11_0_x86_64', 'macosx_10_9_x86_64', 'macosx_11_0_universal2'],
  'darwin-arm64': ['macosx_11_0_arm64', 'macosx_11_0_universal2'],
  'win32-x64': ['win_amd64'],
}[values.target];
if (!PLATFORMS) throw new Error(`no server can be bundled for ${values.target}`);

const WHEEL_TAG = {
  'linux-x64': 'x86_64',
  'linux-arm64': 'aarch64',
  'darwin-x64': 'macosx',
  'darwin-arm64': 'arm64',
  'win32-x64': 'win_amd64',
}[values.target];

const extension = fileURLToPath(new URL('..', import.meta.url));
const repository = join(extension, '..', '..');
const libraries = join(extension, 'bundled', 'libs');
const common = join(libraries, 'common');

function pip(folder, version, ...what) {
  execFileSync(
    values.python,
    [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--root-user-action=ignore',
      '--disable-pip-version-check',
      '--no-compile',
      '--only-binary=:all:',
      '--target',
      folder,
      '--python-version',
      version,
      '--implementation',
      'cp',
      ...PLATFORMS.flatMap(name => ['--platform', name]),
      ...what,
    ],
    { stdio: 'inherit' },
  );
}

// The versions that the repository's own tests run with. Hashes would have to name every platform's files: left out.
function constraints() {
  const file = join(libraries, 'constraints.txt');
  const pins = readFileSync(join(repository, 'requirements', 'dev.txt'), 'utf8').match(/^[A-Za-z0-9_.-]+==[^\s;\\]+/gm);
  writeFileSync(file, pins.join('\n') + '\n');
  return file;
}

/** What the server needs, and what `carrel mcp` needs beside it. */
function dependencies() {
  const project = readFileSync(join(repository, 'pyproject.toml'), 'utf8');
  return ['dependencies', 'mcp'].flatMap(name => JSON.parse(new RegExp(`^${name} = (\\[.*\\])$`, 'm').exec(project)[1]));
}

const isCompiled = name => /\.(so|pyd|dylib)$/.test(name);

/** Distributions that are compiled for one Python version, as name==version. One for the stable ABI serves all. */
function compiled(folder) {
  return readdirSync(folder)
    .filter(name => name.endsWith('.dist-info'))
    .flatMap(info => {
      const files = readFileSync(join(folder, info, 'RECORD'), 'utf8')
        .split('\n')
        .map(line => line.split(',')[0]);
      const stable = /^Tag: .*-abi3-/m.test(readFileSync(join(folder, info, 'WHEEL'), 'utf8'));
      if (stable || !files.some(isCompiled)) return [];
      const [name, version] = info.slice(0, -'.dist-info'.length).split('-');
      return [
        { pin: `${name}==${version}`, tops: new Set(files.map(file => file.split('/')[0]).filter(top => top && top !== '..')) },
      ];
    });
}

rmSync(libraries, { recursive: true, force: true });
mkdirSync(common, { recursive: true });
const pins = constraints();
pip(common, VERSIONS[0], '--constraint', pins, ...dependencies());
const perVersion = compiled(common);
for (const top of perVersion.flatMap(({ tops }) => [...tops])) rmSync(join(common, top), { recursive: true, force: true });
for (const version of VERSIONS) {
  const folder = join(libraries, `cp${version.replace('.', '')}`);
  try {
    pip(folder, version, '--no-deps', ...perVersion.map(({ pin }) => pin));
  } catch {
    // The extension says so to whoever has only this Python.
    console.warn(`Python ${version} is left out: not all that the server needs is built for it`);
    rmSync(folder, { recursive: true, force: true });
  }
  rmSync(join(folder, 'bin'), { recursive: true, force: true });
}
if (values.wheel) {
  // A wheel is an archive; pip would refuse one for another machine than this.
  if (!basename(values.wheel).includes(WHEEL_TAG))
    throw new Error(`${basename(values.wheel)} isn't for ${values.target} (its name lacks ${WHEEL_TAG})`);
  execFileSync(values.python, ['-m', 'zipfile', '-e', values.wheel, common], { stdio: 'inherit' });
} else {
  const filter = file => !file.includes('__pycache__') && !file.endsWith('.pyi');
  cpSync(join(repository, 'python', 'carrel'), join(common, 'carrel'), { recursive: true, filter });
}
rmSync(join(common, 'bin'), { recursive: true, force: true });
rmSync(pins);
if (!existsSync(join(common, 'carrel')) || !readdirSync(join(common, 'carrel')).some(isCompiled))
  throw new Error("Carrel's compiled module is missing: build it first (make build)");
console.log(`bundled for ${values.target}: ${readdirSync(libraries).join(', ')}`);

// Puts the server with all that it needs under bundled/; package.mjs packs the libraries:
//   libs/common/   Carrel, and what is the same for all     libs/cp3xx/   what is compiled for one Python version
//   python.json    which Python the extension may get for whoever has none     mcp.txt   what `carrel mcp` needs beside it, with hashes
// node scripts/bundle_server.mjs (--wheel FILE | --source) [--target linux-x64] [--python PROGRAM] [--offline [--archive FILE]]
// --source takes the repository's own python/carrel with the module that was built in place. --offline puts a Python and what `carrel mcp`
// needs into the package, so that nothing is ever fetched: the archive that scripts/python.json names, or FILE, one of the same form.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Buffer } from 'node:buffer';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { extract } from 'tar';

const { values } = parseArgs({
  options: {
    wheel: { type: 'string' },
    source: { type: 'boolean' },
    target: { type: 'string', default: `${process.platform}-${process.arch}` },
    python: { type: 'string', default: process.env.PYTHON ?? 'python3' },
    offline: { type: 'boolean', default: false },
    archive: { type: 'string' },
  },
});
if (!values.wheel === !values.source) throw new Error('give --wheel FILE or --source');
if (values.archive && !values.offline) throw new Error('--archive is for --offline');

const PLATFORMS = {
  'linux-x64': ['manylinux_2_28_x86_64', 'manylinux_2_17_x86_64', 'manylinux2014_x86_64'],
  'linux-arm64': ['manylinux_2_28_aarch64', 'manylinux_2_17_aarch64', 'manylinux2014_aarch64'],
  'darwin-x64': ['macosx_11_0_x86_64', 'macosx_10_9_x86_64', 'macosx_11_0_universal2'],
  'darwin-arm64': ['macosx_11_0_arm64', 'macosx_11_0_universal2'],
  'alpine-x64': ['musllinux_1_2_x86_64', 'musllinux_1_1_x86_64'],
  'alpine-arm64': ['musllinux_1_2_aarch64', 'musllinux_1_1_aarch64'],
  'win32-x64': ['win_amd64'],
}[values.target];
if (!PLATFORMS) throw new Error(`no server can be bundled for ${values.target}`);

const WHEEL_TAG = {
  'linux-x64': /manylinux\w*x86_64|-linux_x86_64/,
  'linux-arm64': /manylinux\w*aarch64|-linux_aarch64/,
  'darwin-x64': /macosx\w*(x86_64|universal2)/,
  'darwin-arm64': /macosx\w*(arm64|universal2)/,
  'alpine-x64': /musllinux\w*x86_64/,
  'alpine-arm64': /musllinux\w*aarch64/,
  'win32-x64': /win_amd64/,
}[values.target];

const extension = fileURLToPath(new URL('..', import.meta.url));
const repository = join(extension, '..', '..');
const bundled = join(extension, 'bundled');
const libraries = join(bundled, 'libs');
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

/** What pyproject.toml names under `dependencies`, or under an extra's name. */
function dependencies(name) {
  const project = readFileSync(join(repository, 'pyproject.toml'), 'utf8');
  return JSON.parse(new RegExp(`^${name} = (\\[.*\\])$`, 'm').exec(project)[1]);
}

const canonical = name => name.toLowerCase().replace(/[-_.]+/g, '-');

/** Names of the distributions in a folder. */
function distributions(folder) {
  return new Set(
    readdirSync(folder)
      .filter(name => name.endsWith('.dist-info'))
      .map(name => canonical(name.split('-')[0])),
  );
}

/** The lines of requirements/dev.txt, versions and hashes for every platform, for what `carrel mcp` needs and the server hasn't. */
function mcpRequirements() {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-mcp-'));
  try {
    pip(folder, VERSIONS[0], '--constraint', pins, ...dependencies('mcp'));
    const there = distributions(common);
    const wanted = [...distributions(folder)].filter(name => !there.has(name));
    const blocks = readFileSync(join(repository, 'requirements', 'dev.txt'), 'utf8').match(
      /^[A-Za-z0-9][^\n]*\\\n(?: +--hash[^\n]*\n)+/gm,
    );
    const chosen = blocks.filter(block => wanted.includes(canonical(/^[A-Za-z0-9_.-]+/.exec(block)[0])));
    if (chosen.length < wanted.length)
      throw new Error('requirements/dev.txt lacks something that `carrel mcp` needs: run make lock');
    return chosen.join('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FORM = 'OFFLINE=FILE takes an archive such as those of python-build-standalone (install_only_stripped).';

/** End with what went wrong and what helps, without a stack. */
function stop(reason, remedy) {
  console.error(`${reason}.\n${remedy}`);
  process.exit(1);
}

/** Get the archive that is pinned for the target, checked as the extension checks it; gives the file. */
async function pythonArchive({ from, name, sha256 }) {
  const url = `${from}/${name}`;
  const remedy = `Get it on a machine that reaches it, check its SHA-256 (${sha256}), and run: make vsix OFFLINE=FILE`;
  let content;
  try {
    const response = await fetch(url);
    if (!response.ok) stop(`${url} can't be had: the server answered ${response.status}`, remedy);
    content = Buffer.from(await response.arrayBuffer());
  } catch (error) {
    stop(`${url} can't be had: ${error.cause?.message ?? error.message}`, remedy);
  }
  if (createHash('sha256').update(content).digest('hex') !== sha256)
    stop(`${url} isn't what was pinned: its SHA-256 differs`, 'Try again, or look whether somebody changes what you download.');
  const file = join(mkdtempSync(join(tmpdir(), 'carrel-python-')), 'archive.tar.gz');
  writeFileSync(file, content);
  return file;
}

/** What only builders of programs and people at a prompt use. */
const NEEDLESS =
  /(^|\/)(include|share|config-\d[^/]*|test|tests|idlelib|tkinter|turtledemo|lib2to3|ensurepip|pip|pip-[^/]*|Doc|tcl[^/]*|tk[^/]*|itcl[^/]*)(\/|$)|\.a$|__pycache__/;

async function unpackPython(file) {
  const folder = join(bundled, 'python');
  mkdirSync(folder);
  try {
    await extract({ file, cwd: folder, strip: 1, strict: true, filter: path => !NEEDLESS.test(path) });
  } catch (error) {
    stop(`${file} can't be unpacked: ${error.message}`, FORM);
  }
  const programs = join(folder, 'bin');
  if (!existsSync(programs)) return; // Windows has python.exe in the root
  // A .vsix holds no links: each would be one more copy.
  const [real] = readdirSync(programs).filter(name => /^python3\.\d+$/.test(name));
  if (!real) stop('The archive holds no Python', FORM);
  for (const name of readdirSync(programs)) if (name !== real) rmSync(join(programs, name));
  renameSync(join(programs, real), join(programs, 'python3'));
}

/** The version of the packaged Python, as the names of its files tell it: it may be for another machine than this. */
function ownVersion() {
  const folder = join(bundled, 'python');
  const named = [folder, join(folder, 'lib')].filter(existsSync).flatMap(one => readdirSync(one));
  const found = named.map(name => /^python3\.(\d+)$|^python3(\d\d)\.dll$/.exec(name)).find(Boolean);
  if (!found) stop('The archive holds no Python', FORM);
  return `3.${found[1] ?? found[2]}`;
}

/** What only rich's Markdown and coloured source need, which Carrel doesn't print: 1.3 MB. */
const UNUSED = /^(pygments|markdown_it(_py)?|mdurl)(-.*\.dist-info)?$/i;

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

const pinned = JSON.parse(readFileSync(join(extension, 'scripts', 'python.json'), 'utf8'));
// Of musl no archive is pinned: there the extension gets no Python.
const known = pinned.archives[values.target];
const archive = { version: pinned.version, from: pinned.from, ...known };
if (values.offline && !values.archive && !known) stop(`no Python is pinned for ${values.target}`, FORM);
if (values.archive && !existsSync(values.archive)) stop(`${values.archive} isn't there`, FORM);
const packed = values.offline ? (values.archive ?? (await pythonArchive(archive))) : undefined;
rmSync(bundled, { recursive: true, force: true });
mkdirSync(common, { recursive: true });
let VERSIONS = ['3.11', '3.12', '3.13', '3.14'];
if (packed) {
  await unpackPython(packed);
  VERSIONS = [ownVersion()];
}
const pins = constraints();
pip(common, VERSIONS[0], '--constraint', pins, ...dependencies('dependencies'), ...(values.offline ? dependencies('mcp') : []));
if (!values.offline) {
  if (known) writeFileSync(join(bundled, 'python.json'), JSON.stringify(archive));
  writeFileSync(join(bundled, 'mcp.txt'), mcpRequirements());
}
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
  for (const needless of ['bin', 'regex/tests']) rmSync(join(folder, needless), { recursive: true, force: true });
}
if (values.wheel) {
  // A wheel is an archive; pip would refuse one for another machine than this.
  if (!WHEEL_TAG.test(basename(values.wheel)))
    throw new Error(`${basename(values.wheel)} isn't for ${values.target} (its name lacks ${WHEEL_TAG.source})`);
  execFileSync(values.python, ['-m', 'zipfile', '-e', values.wheel, common], { stdio: 'inherit' });
} else {
  const filter = file => !file.includes('__pycache__') && !file.endsWith('.pyi');
  cpSync(join(repository, 'python', 'carrel'), join(common, 'carrel'), { recursive: true, filter });
}
rmSync(join(common, 'bin'), { recursive: true, force: true });
for (const name of readdirSync(common)) if (UNUSED.test(name)) rmSync(join(common, name), { recursive: true });
rmSync(pins);
if (!existsSync(join(common, 'carrel')) || !readdirSync(join(common, 'carrel')).some(isCompiled))
  throw new Error("Carrel's compiled module is missing: build it first (make build)");
console.log(`bundled for ${values.target}${values.offline ? ', with a Python' : ''}: ${readdirSync(libraries).join(', ')}`);

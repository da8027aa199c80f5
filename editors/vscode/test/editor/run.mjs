// node test/editor/run.mjs INSTALL VSIX [SUITE]: the Mocha suites of out/ inside the extension host of a real VS Code, with the packaged extension.
// node test/editor/run.mjs INSTALL VSIX prompts FOLDER: what is sent of the project in FOLDER; prompts.mjs starts it.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const PATIENCE_MS = 600_000;
const [install, vsix] = process.argv.slice(2, 4).map(path => resolve(path));
const only = process.argv[4];
const here = fileURLToPath(new URL('.', import.meta.url));

/** A folder whose own settings want to run a program of its own and to switch the memory on. */
function hostile(project) {
  const program = join(project, 'server.sh');
  writeFileSync(program, `#!/bin/sh\ntouch '${join(project, 'ran')}'\n`);
  chmodSync(program, 0o755);
  mkdirSync(join(project, '.vscode'));
  writeFileSync(
    join(project, '.vscode/settings.json'),
    JSON.stringify({
      'carrel.server.path': program,
      'carrel.server.python': program,
      'carrel.ragEnabled': true,
      'carrel.ragAutoIndex': true,
    }),
  );
}

/** A second folder beside the first; gives the file that opens both. */
function second(project) {
  mkdirSync(join(project, '../press'));
  writeFileSync(
    join(project, '../press/printing.py'),
    'def print_page(page, ink):\n    """Print one page with this ink."""\n    return press(page, ink)\n',
  );
  const file = join(project, '../both.code-workspace');
  writeFileSync(file, JSON.stringify({ folders: [{ path: 'shop' }, { path: 'press' }] }));
  return file;
}

const SUITES = {
  host: { bulk: 400, prepare: () => undefined },
  multiroot: { bulk: 5, prepare: second },
  prompts: { bulk: 0, prepare: () => resolve(process.argv[5]), alone: true },
  untrusted: {
    bulk: 5,
    prepare: hostile,
    trust: true,
    settings: { 'security.workspace.trust.startupPrompt': 'never', 'security.workspace.trust.banner': 'never' },
  },
};

/** Gives whether every test passed. */
async function run(suite, { bulk, prepare, trust, settings }) {
  console.log(`-- ${suite}`);
  const editor = await Editor.start({ install, vsix: [vsix], driven: true, trust, settings });
  let code;
  try {
    const project = join(editor.folder, 'shop');
    mkdirSync(project);
    writeProject(project, bulk);
    const opened = prepare(project) ?? project;
    const remote = path => `vscode-remote://${editor.host}${path}`;
    const { page, go } = await editor.open(opened, [
      ['extensionDevelopmentPath', remote(join(here, 'recording'))],
      ['extensionTestsPath', remote(resolve(here, `../../out/${suite}/index.js`))],
      ['skipWelcome', 'true'],
    ]);
    let timer;
    const finished = new Promise((done, late) => {
      timer = setTimeout(() => late(new Error('the tests took too long')), PATIENCE_MS);
      void page.exposeFunction('codeAutomationLog', (_kind, args) => process.env.VERBOSE && console.log(...args));
      void page.exposeFunction('codeAutomationExit', done);
    });
    await go();
    code = await finished;
    clearTimeout(timer);
  } catch (error) {
    console.log(`${suite}: the tests didn't end`, error);
    if (process.env.SCREENSHOT) await editor.page?.screenshot({ path: process.env.SCREENSHOT });
  } finally {
    if (code !== 0 && process.env.VERBOSE) console.error(readFileSync(join(editor.folder, 'editor.log'), 'utf8'));
    console.log(readFileSync(editor.report, 'utf8'));
    await editor.stop();
  }
  return code === 0;
}

let good = true;
for (const [suite, options] of Object.entries(SUITES).filter(([name, { alone }]) => (only ? name === only : !alone)))
  good = (await run(suite, options)) && good;
process.exit(good ? 0 : 1);

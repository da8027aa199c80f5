// node test/editor/run.mjs INSTALL VSIX: the Mocha suite of out/host inside the real extension host, with the packaged extension.
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const PATIENCE_MS = 300_000;
const [install, vsix] = process.argv.slice(2).map(path => resolve(path));
const here = fileURLToPath(new URL('.', import.meta.url));
const editor = await Editor.start({ install, vsix });
let code = 1;
try {
  const project = join(editor.folder, 'shop');
  mkdirSync(project);
  writeProject(project);
  const remote = path => `vscode-remote://${editor.host}${path}`;
  const { page, go } = await editor.open(project, [['extensionDevelopmentPath', remote(join(here, 'recording'))],
    ['extensionTestsPath', remote(resolve(here, '../../out/host/index.js'))], ['skipWelcome', 'true']]);
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
  console.error(error);
  if (process.env.SCREENSHOT) await editor.page?.screenshot({ path: process.env.SCREENSHOT });
} finally {
  if (code && process.env.VERBOSE) console.error(readFileSync(join(editor.folder, 'editor.log'), 'utf8'));
  console.log(readFileSync(editor.report, 'utf8'));
  await editor.stop();
}
process.exit(code === 0 ? 0 : 1);

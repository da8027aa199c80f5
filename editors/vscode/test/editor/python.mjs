// node test/editor/python.mjs INSTALL VSIX [PICTURES]: a machine without a Python that fits, as a person meets it: one message, one button, and
// Carrel works. What the button gets is a stand-in at an address of this machine; that its hash is checked is real. A VSIX with a Python inside
// must work there without a message.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { create } from 'tar';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const [install, vsix, pictures] = process.argv.slice(2).map(path => resolve(path));
const work = mkdtempSync(join(tmpdir(), 'carrel-python-'));
const real = execFileSync(process.env.PYTHON ?? 'python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
}).trim();
let passed = 0;

function program(file, text) {
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
}

/** A folder with all the programs of this machine but Python and Carrel. */
function programs() {
  const folder = join(work, 'bin');
  mkdirSync(folder);
  for (const place of process.env.PATH.split(delimiter).reverse()) {
    let names = [];
    try {
      names = readdirSync(place);
    } catch {
      // A PATH may name what isn't there.
    }
    for (const name of names.filter(name => !/^(python|py$|pip|carrel)/.test(name))) {
      rmSync(join(folder, name), { force: true });
      symlinkSync(join(place, name), join(folder, name));
    }
  }
  // The editor asks a login shell for the person's PATH.
  program(join(work, 'shell'), 'while [ $# -gt 1 ]; do shift; done; exec /bin/sh -c "$1"');
  process.env.SHELL = join(work, 'shell');
  return folder;
}

/** Serves an archive with a stand-in for Python; gives what the package would name. */
async function release() {
  mkdirSync(join(work, 'python/bin'), { recursive: true });
  program(join(work, 'python/bin/python3'), `exec '${real}' "$@"`);
  await create({ gzip: true, file: join(work, 'python.tar.gz'), cwd: work }, ['python']);
  const content = readFileSync(join(work, 'python.tar.gz'));
  const server = createServer((_, response) => response.writeHead(200, { 'content-length': content.length }).end(content));
  await new Promise(listening => server.listen(0, '127.0.0.1', listening));
  const sha256 = createHash('sha256').update(content).digest('hex');
  return {
    server,
    archive: { version: '3.13.0', from: `http://127.0.0.1:${server.address().port}`, name: 'python.tar.gz', sha256 },
  };
}

const path = programs();
const { server, archive } = await release();
const settings = { 'workbench.colorTheme': 'Default Light Modern' };
const editor = await Editor.start({ install, vsix: [vsix], settings, path });

async function step(name, run) {
  await run();
  passed += 1;
  console.log(`  ✔ ${name}`);
  if (pictures) await editor.page.screenshot({ path: join(pictures, `python-${passed}.png`) });
}

try {
  const project = join(editor.folder, 'shop');
  mkdirSync(project);
  if (pictures) mkdirSync(pictures, { recursive: true });
  writeProject(project, 2);
  program(join(path, 'python3'), 'echo 3.9');
  const pins = editor.installed('bundled/python.json');
  const offline = existsSync(editor.installed('bundled/python'));
  if (!offline) {
    assert.match(readFileSync(pins, 'utf8'), /"sha256":"[0-9a-f]{64}"/, 'the package names an archive and its hash');
    writeFileSync(pins, JSON.stringify({ ...archive, sha256: '0'.repeat(64) }));
  }
  const { page, go } = await editor.open(project, [], { width: 1240, height: 780 });
  page.setDefaultTimeout(30_000);
  await go();
  const message = text => page.locator('.notification-list-item').filter({ hasText: text });
  const click = (shown, button) =>
    shown
      .locator('.monaco-button')
      .filter({ hasText: new RegExp(`^${button}$`) })
      .click();
  const status = page.locator('.statusbar-item[id^="carrel.carrel"]');

  const withPackaged = () =>
    step('with a Python in the package the memory works, and nothing is said', async () => {
      await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
      await page.getByRole('button', { name: 'Remember This Project', exact: true }).click();
      await page.getByRole('treeitem', { name: /^Index: ready/ }).waitFor();
      await page.getByRole('treeitem', { name: /^Files: \d/ }).waitFor();
      assert.equal(await message('Python').count(), 0);
    });

  const withButton = async () => {
    await step('with Python 3.9 alone, one message says so and has a button', async () => {
      await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
      await page.getByRole('button', { name: 'Remember This Project', exact: true }).click();
      await message('Carrel needs Python 3.11 to 3.14, and this machine has only 3.9.').waitFor();
      await status.getByText('Carrel: needs Python').waitFor();
      assert.equal(await page.locator('.notification-list-item').filter({ hasText: 'Python' }).count(), 1);
    });

    await step('what is not the pinned file is not installed', async () => {
      const refused = message('Python was not installed: what was downloaded is not the expected file');
      // A click while the notification moves is lost; who sees nothing happen clicks again.
      for (let tries = 0; tries < 3 && !(await refused.isVisible()); tries += 1) {
        await click(message('this machine has only 3.9'), 'Get Python').catch(() => undefined);
        await refused.waitFor({ timeout: 5_000 }).catch(() => undefined);
      }
      await refused.waitFor();
    });

    await step('without any Python the status bar has the button too, and the memory works with what it gets', async () => {
      rmSync(join(path, 'python3'));
      writeFileSync(pins, JSON.stringify(archive));
      await page.mouse.move(620, 300); // no hover in front of the status bar
      await status.click();
      await status.getByText(/Carrel: (ready|not indexed|on request)/).waitFor();
      await editor.command('Carrel: Index This Project');
      await page.getByRole('treeitem', { name: /^Index: ready/ }).waitFor();
      await page.getByRole('treeitem', { name: /^Files: \d/ }).waitFor();
    });
  };

  if (offline) await withPackaged();
  else await withButton();
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  if (pictures) await editor.page?.screenshot({ path: join(pictures, 'python-failed.png') });
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await editor.stop();
  server.close();
  rmSync(work, { recursive: true, force: true });
}

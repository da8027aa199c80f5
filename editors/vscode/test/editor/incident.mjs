// node test/editor/incident.mjs INSTALL VSIX [PICTURES]: the incident of docs/knowledge.md as a person meets it: the runbook, real tools over MCP,
// the plan, the dialog before anything dangerous runs, the answer, the audit log. PYTHON is the Python of a built server (make build).
import { createVSIX } from '@vscode/vsce';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const [install, vsix, pictures] = process.argv.slice(2).map(path => resolve(path));
const here = fileURLToPath(new URL('.', import.meta.url));
const python = resolve(process.env.PYTHON ?? join(here, '../../../../.venv/bin/python'));
const carrel = join(dirname(python), 'carrel');
const QUESTION = 'payments are down: restart the Phoenix server according to protocol';
const RUNBOOK = `---
title: Phoenix server
version: 3
updated_at: 2026-05-04
---
# Phoenix server

Phoenix serves the payment pages. It runs on two hosts behind the load balancer.

## Restart protocol

1. Take the host off the load balancer.
2. Restart the service with \`systemctl restart phoenix\`.
3. Put the host back on the load balancer when /healthz answers.
`;

const recording = join(mkdtempSync(join(tmpdir(), 'carrel-recording-')), 'recording.vsix');
await createVSIX({
  cwd: join(here, 'recording'),
  allowStarActivation: true,
  packagePath: recording,
  dependencies: false,
  skipLicense: true,
  allowMissingRepository: true,
});
const settings = { 'workbench.colorTheme': 'Default Light Modern', 'carrel.ragEnabled': true, 'carrel.ragAutoIndex': true };
const editor = await Editor.start({ install, vsix: [vsix, recording], settings });
const inside = name => join(editor.folder, name);
const calls = inside('calls');
const called = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []);
let passed = 0;

async function step(name, run) {
  await run();
  passed += 1;
  console.log(`  ✔ ${name}`);
  if (!pictures) return;
  await editor.page.waitForTimeout(500); // what moves has come to rest
  await editor.page.screenshot({ path: join(pictures, `incident-${passed}.png`) });
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

try {
  if (pictures) mkdirSync(pictures, { recursive: true });
  const project = inside('shop');
  mkdirSync(project);
  writeProject(project, 2);
  write(inside('runbooks/phoenix.md'), RUNBOOK);
  const server = resolve(here, '../../../../tests/frontends/mcp/ops_server.py');
  write(
    inside('xdg_config_home/carrel/settings.toml'),
    `[sources.runbooks]\nfolder = '${inside('runbooks')}'\n[tools.servers.ops]\ncommand = '${python}'\nargs = ['${server}', '${calls}']\n`,
  );
  write(inside('data/Machine/settings.json'), JSON.stringify({ 'carrel.server.path': carrel }));
  const own = Object.fromEntries(
    ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME'].map(name => [name, inside(name.toLowerCase())]),
  );
  execFileSync(carrel, ['tools', 'refresh'], { env: { ...process.env, ...own }, stdio: 'pipe' });
  const { page, go } = await editor.open(project, [], { width: 1240, height: 780 });
  page.setDefaultTimeout(60_000);
  await go();
  const dialog = page.locator('.monaco-dialog-box');
  const ask = async () => {
    const input = page.locator('.interactive-input-part .monaco-editor').first();
    // A key that is pressed before the chat is ready is lost; who sees nothing happen presses it again.
    for (let tries = 0; tries < 5 && !(await input.isVisible()); tries += 1) {
      await page.keyboard.press('Control+Alt+I');
      await input.waitFor({ timeout: 15_000 }).catch(() => undefined);
    }
    await input.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(`@carrel /tools ${QUESTION}`, { delay: 15 });
    await page.keyboard.press('Escape'); // closes the list of suggestions
    await page.keyboard.press('Enter');
  };
  const answer = () => page.locator('.interactive-response').last();

  await step('the tools of the plan are shown, and used only after a click', async () => {
    await page.locator('.statusbar-item[id^="carrel.carrel"] .codicon-library').waitFor();
    await ask();
    await dialog.getByText('Carrel: may models and pipelines use these tools?').waitFor();
    await dialog.getByText(/ops\.restart_server: New \(dangerous\)\. Restart a server\./).waitFor();
    assert.deepEqual(called(), []);
  });

  await step('the dialog shows every call; who declines has run nothing', async () => {
    await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
    await dialog.getByText('Carrel: run these tools, one after the other?').waitFor();
    await dialog.getByText(/step 1: ops\.restart_server \(dangerous\) with \{"hostname":"pay-prod-03"\}/).waitFor();
    if (pictures) await page.screenshot({ path: join(pictures, 'incident-dialog.png') });
    await dialog.getByRole('button', { name: "Don't Allow" }).click();
    await answer().getByText('Nothing was done').waitFor();
    assert.deepEqual(called(), []);
  });

  await step('after a click the plan runs in its order, and the answer cites the runbook', async () => {
    await ask();
    await dialog.getByText('Carrel: run these tools, one after the other?').waitFor();
    await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
    await answer().getByText('Phoenix was restarted off the load balancer').waitFor();
    await answer().locator('.chat-inline-anchor-widget').filter({ hasText: 'phoenix.md' }).first().waitFor();
    assert.deepEqual(called(), ['load_balancer pay-prod-03 off', 'restart_server pay-prod-03', 'load_balancer pay-prod-03 on']);
    const told = readFileSync(editor.recording, 'utf8').trim().split('\n').at(-1);
    assert(told.includes('Take the host off the load balancer'), 'the model read the runbook');
  });

  await step('the audit log tells what ran', async () => {
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
    await page
      .getByRole('button', { name: /^Memory Section|^Receipt Section/ })
      .first()
      .click(); // makes room
    await page.getByRole('button', { name: /^Audit Section/ }).click();
    const run = page.getByRole('treeitem', { name: /^Pipeline: ops\.load_balancer, ops\.restart_server, ops\.load_balancer/ });
    await run.first().click();
    await page
      .locator('.tab')
      .filter({ hasText: /^Entry \d+\.md/ })
      .waitFor();
    await page.locator('.view-lines').getByText('ops.restart_server').first().waitFor();
  });
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  if (pictures) await editor.page?.screenshot({ path: join(pictures, 'incident-failed.png') });
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await editor.stop();
  rmSync(dirname(recording), { recursive: true });
}

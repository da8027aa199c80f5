// node test/editor/project_tour.mjs INSTALL VSIX PROJECT PICTURES: the tour of the screen on a project that Carrel was not made with. PROJECT is a folder with a
// checkout of one that unknown_projects.json names; it is copied without its history. A person who has never seen Carrel installs it, opens the
// project, accepts the offer, asks, asks on, selects lines and asks, looks at receipts, and has an issue reviewed. Keeps a screenshot of each
// step in PICTURES, to be looked at; what the screen says is checked where it can be known. The model of the tests names the places it was given.
import { createVSIX } from '@vscode/vsce';
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Editor } from './editor.mjs';

const [install, vsix, checkout, pictures] = process.argv.slice(2).map(path => resolve(path));
const name = basename(checkout);
const known = JSON.parse(readFileSync(new URL('unknown_projects.json', import.meta.url), 'utf8'));
const project = known.find(one => one.name === name);
if (!project)
  throw new Error(`unknown_projects.json has no questions about ${name}, but about ${known.map(one => one.name).join(', ')}`);

const recording = join(mkdtempSync(join(tmpdir(), 'carrel-recording-')), 'recording.vsix');
await createVSIX({
  cwd: fileURLToPath(new URL('recording', import.meta.url)),
  allowStarActivation: true,
  packagePath: recording,
  dependencies: false,
  skipLicense: true,
  allowMissingRepository: true,
});
process.env.RECORDING_ANSWERS = 'places';
const settings = {
  'workbench.colorTheme': 'Default Light Modern',
  'window.commandCenter': false,
  'chat.commandCenter.enabled': false,
};
const editor = await Editor.start({ install, vsix: [vsix, recording], settings });
let passed = 0;

async function step(what, run) {
  const began = Date.now();
  await run();
  passed += 1;
  console.log(`  ✔ ${what} (${((Date.now() - began) / 1_000).toFixed(1)} s)`);
  await picture(String(passed).padStart(2, '0'));
}
const picture = async what => {
  await editor.page.waitForTimeout(700); // what moves in comes to rest
  await editor.page.screenshot({ path: join(pictures, `${name}-${what}.png`) });
};

try {
  const folder = join(editor.folder, name);
  cpSync(checkout, folder, { recursive: true, filter: path => !path.endsWith('/.git') });
  mkdirSync(pictures, { recursive: true });
  const { page, go } = await editor.open(folder, [], { width: 1360, height: 820 });
  page.setDefaultTimeout(60_000);
  await go();

  const input = page.locator('.interactive-input-part .monaco-editor').first();
  const answers = page.locator('.interactive-response');
  const prompts = () => readFileSync(editor.recording, 'utf8').split('\n').filter(Boolean);
  const lastPrompt = () => JSON.parse(prompts().at(-1)).at(-1).text;
  const until = async (what, holds) => {
    for (const end = Date.now() + 60_000; Date.now() < end; await page.waitForTimeout(100)) if (await holds()) return;
    throw new Error(`never: ${what}`);
  };
  const ask = async text => {
    const before = prompts().length;
    await input.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text, { delay: 10 });
    await page.keyboard.press('Escape'); // closes the list of suggestions
    await page.keyboard.press('Enter');
    return () => until('the model is asked', () => prompts().length > before);
  };
  const receiptLinks = page.locator('.interactive-response').getByText(/^Receipt: \d+ places?, /);

  await step('the first look', async () => {
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
    await page.getByRole('button', { name: 'Remember This Project', exact: true }).waitFor();
    await page.locator('.notification-list-item').filter({ hasText: 'Remember this project?' }).waitFor();
  });
  await step('indexing, with numbers', async () => {
    await page.getByRole('button', { name: 'Remember This Project', exact: true }).click();
    await page
      .locator('.statusbar-item[id^="carrel.carrel"]')
      .getByText(/of [\d,]+ files/)
      .waitFor();
  });
  await step('ready', async () => {
    await page.getByRole('treeitem', { name: /^Index: ready/ }).waitFor({ timeout: 300_000 });
  });
  const expect = (places, prompt) =>
    assert(
      places.some(path => prompt.includes(`file="${path}"`)),
      `${places} in ${prompt.match(/file="[^"]+"/g)}`,
    );
  await step('a question', async () => {
    await page.keyboard.press('Control+Alt+I');
    const asked = await ask(`@carrel ${project.question.ask}`);
    await asked();
    await receiptLinks.first().waitFor();
    expect(project.question.places, lastPrompt());
  });
  await step('its receipt', async () => {
    await receiptLinks.first().click();
    await page
      .getByRole('treeitem', { name: /^Budget: [\d,]+ of [\d,]+ tokens/ })
      .first()
      .waitFor();
    await page
      .getByRole('treeitem', { name: /^How the score adds up/ })
      .first()
      .click();
  });
  await step('a follow-up', async () => {
    const asked = await ask(`@carrel ${project.followUp.ask}`);
    await asked();
    await answers
      .nth(1)
      .getByText(/^Receipt: /)
      .waitFor();
    expect(project.followUp.places, lastPrompt());
    const whole = prompts().at(-1);
    assert(whole.includes(project.question.ask), 'the turn before is there');
  });
  await step('hello! sends nothing', async () => {
    const asked = await ask('@carrel hello!');
    await asked();
    assert.equal(lastPrompt(), 'hello!');
    await answers
      .last()
      .getByText(/^Receipt: /)
      .waitFor();
  });
  await step('a question about a selection', async () => {
    const [path, first, last] = project.selection.lines;
    await page.keyboard.press('F1');
    await page.locator('.quick-input-widget input').first().fill(`${path}:${first}`); // without the > it looks for files
    await page.locator('.quick-input-list-row').getByText(basename(path)).first().waitFor();
    await page.keyboard.press('Enter');
    const text = page.locator('.editor-instance .monaco-editor').first();
    await text.waitFor();
    await page.locator('.statusbar-item').getByText(`Ln ${first}, Col`).waitFor();
    for (let line = first; line <= last; line += 1) await page.keyboard.press('Shift+ArrowDown');
    const asked = await ask(`@carrel ${project.selection.ask}`);
    await asked();
    const chosen = readFileSync(join(folder, path), 'utf8')
      .split('\n')
      .slice(first - 1, last);
    const prompt = lastPrompt();
    for (const line of chosen.filter(one => one.trim())) assert(prompt.includes(line.trim()), line);
    await answers
      .last()
      .getByText(/^Receipt: /)
      .waitFor();
  });
  await step('the receipt of the selection', async () => {
    await answers
      .last()
      .getByText(/^Receipt: /)
      .click();
    await page
      .getByRole('treeitem', { name: /You selected or attached these lines/ })
      .first()
      .waitFor();
  });
  await step('an issue is reviewed', async () => {
    const asked = await ask(`@carrel /review ${project.issue}`);
    await asked();
    await answers
      .last()
      .getByText(/\b2 of 5/)
      .waitFor();
    await answers.last().locator('.chat-inline-anchor-widget').nth(1).waitFor(); // in the advice, and in the list of places
  });
  await step('what would be sent, before', async () => {
    await editor.command('Carrel: Preview What Would Be Sent');
    await page.locator('.quick-input-widget').getByText('context for which question?').waitFor();
    await page.locator('.quick-input-widget input').first().fill(project.question.ask);
    await page.keyboard.press('Enter');
    await page
      .getByRole('treeitem', { name: /shown to you, not sent/ })
      .first()
      .waitFor();
  });
  await step('the same before each question, for whoever wants it', async () => {
    mkdirSync(join(folder, '.vscode'), { recursive: true });
    writeFileSync(join(folder, '.vscode/settings.json'), '{"carrel.chat.reviewBeforeSending": true, "carrel.ragTopK": 4}');
    await page.getByRole('treeitem', { name: /^Places per answer: at most 4$/ }).waitFor(); // the editor watches the file
    await ask(`@carrel ${project.followUp.alone}`);
    await page.locator('.quick-input-widget').getByText('Uncheck what to leave out').waitFor();
  });
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  await picture('failed');
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await editor.stop();
  rmSync(dirname(recording), { recursive: true });
}

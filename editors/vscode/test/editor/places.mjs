// node test/editor/places.mjs INSTALL VSIX [PICTURES]: what a person gets who has no chat model: places, and what to do for more. With PICTURES,
// a folder, it keeps screenshots there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const [install, vsix, pictures] = process.argv.slice(2).map(path => resolve(path));
const settings = { 'workbench.colorTheme': 'Default Dark Modern', 'chat.commandCenter.enabled': false };
Object.assign(settings, { 'security.workspace.trust.startupPrompt': 'never', 'security.workspace.trust.banner': 'never' });
const editor = await Editor.start({ install, vsix: [vsix], settings, trust: true });
let passed = 0;

async function step(name, run) {
  await run();
  passed += 1;
  console.log(`  ✔ ${name}`);
  if (pictures) await editor.page.screenshot({ path: join(pictures, `places-${passed}.png`) });
}

try {
  const project = join(editor.folder, 'shop');
  mkdirSync(project);
  if (pictures) mkdirSync(pictures, { recursive: true });
  writeProject(project, 300); // enough that indexing is seen
  const git = (...words) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...words], { cwd: project });
  git('init', '-q');
  git('add', 'src/auth.py');
  git('commit', '-q', '-m', 'Refuse a login without its row');
  const { page, go } = await editor.open(project, [], { width: 1240, height: 780 });
  page.setDefaultTimeout(30_000);
  await go();
  const ask = async text => {
    await page.locator('.interactive-input-part .monaco-editor').first().click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text, { delay: 15 });
    await page.keyboard.press('Escape'); // closes the list of suggestions
    await page.keyboard.press('Enter');
    return page.locator('.interactive-response').last();
  };

  const offer = page.locator('.notification-list-item').filter({ hasText: 'Remember this project?' });
  const list = page.locator('.quick-input-widget');

  await step('the offer to remember the project comes when the folder is trusted', async () => {
    await page.locator('.statusbar-item[id^="carrel.carrel"]').getByText('Carrel: on request').waitFor();
    assert.equal(await offer.count(), 0);
    await page.locator('.statusbar-item').getByText('Restricted Mode').click();
    await page.locator('.workspace-trust-editor').getByRole('button', { name: 'Trust', exact: true }).click();
    await page.getByText('You trust this folder').waitFor();
    const dialog = page.getByText('You trust this folder');
    for (let tries = 0; tries < 10 && (await dialog.isVisible()); tries += 1) {
      await dialog.click(); // Escape closes what has the focus
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden', timeout: 3_000 }).catch(() => undefined);
    }
    await offer
      .locator('.monaco-button')
      .filter({ hasText: /^Not Now$/ })
      .click();
  });

  await step('Search indexes first, and then lists places', async () => {
    await editor.command('Carrel: Search…');
    await list.getByPlaceholder('Words, a question, or a name').waitFor(); // the palette lists that command, too
    await page.keyboard.type('authenticate_user');
    await list.getByText('Indexing the project first').waitFor();
    await list.getByText('src/auth.py:1-4').waitFor();
  });

  await step('a button shows the commit that changed each place last', async () => {
    await list.locator('[aria-label="Show or Hide the Last Changes"]').click();
    await list.getByText('Ada: Refuse a login without its row').waitFor();
    await page.keyboard.press('Escape');
  });

  await step('Ask opens the chat, in which Carrel has a model of its own', async () => {
    await page.keyboard.press('Control+Alt+K');
    await page.keyboard.press('A');
    await page.locator('.interactive-input-part').getByText('Carrel: places only').waitFor();
  });

  await step('a question is answered with places, and with what to do for an answer in words', async () => {
    const answer = await ask('@carrel how is a login checked?');
    await answer.getByText('These places of the project fit the question:').waitFor();
    await answer.locator('.chat-inline-anchor-widget').filter({ hasText: 'auth.py:1' }).first().waitFor();
    await answer.getByRole('link', { name: 'install one' }).waitFor();
    await answer.getByText(/^Receipt: \d+ places?, /).waitFor();
    assert.equal(await page.getByText('Language model unavailable').count(), 0);
  });

  await step('/explain without a selection says what to do, /review that it takes a model', async () => {
    await (await ask('@carrel /explain ')).getByText('Select the code in an editor first').waitFor();
    await (await ask('@carrel /review Logins fail')).getByText('This takes a chat model').waitFor();
  });

  await step('after a reload the answer is still listed, and its places open at their lines', async () => {
    await page.reload();
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
    await page
      .getByRole('treeitem', { name: /^how is a login checked\?: shown to you, not sent/ })
      .first()
      .click();
    await page
      .getByRole('treeitem', { name: /^auth\.py:1-4: 0\.\d\d/ })
      .first()
      .click();
    await page.locator('.tab').filter({ hasText: 'auth.py' }).waitFor();
  });

  await step('of two folders of one name each place says its folder, and a click opens that file', async () => {
    const folders = ['red', 'blue'].map(color => {
      const path = join(editor.folder, color, 'app');
      mkdirSync(path, { recursive: true });
      writeFileSync(
        join(path, 'auth.py'),
        `def authenticate_user(name):\n    """Check a login of a ${color} user."""\n    return load(name)\n`,
      );
      return { path };
    });
    const workspace = join(editor.folder, 'both.code-workspace');
    writeFileSync(workspace, JSON.stringify({ folders }));
    await page.goto(`http://${editor.host}/?workspace=${workspace}`);
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
    for (const name of ['red-app', 'blue-app']) await page.getByRole('treeitem', { name, exact: true }).waitFor();
    await editor.command('Carrel: Search…');
    await list.getByPlaceholder('Words, a question, or a name').waitFor();
    await page.keyboard.type('authenticate_user');
    await list.getByText('red-app/auth.py:1-3').waitFor();
    await list.getByText('blue-app/auth.py:1-3').click();
    await page.locator('.view-lines').getByText('blue').waitFor();
  });

  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  if (pictures) await editor.page?.screenshot({ path: join(pictures, 'places-failed.png') });
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await editor.stop();
}

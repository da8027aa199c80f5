// A remote model as a person meets it, in the window of tour.mjs: the dialog that asks for permission, the list of models, the key; then a folder of
// documents as a source.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { standIn } from './stand_in.mjs';

const KEY = 'sk-planted-0123456789';

/** All that the editor wrote into files of its own: logs, settings, state. */
function written(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => readFileSync(join(entry.parentPath ?? entry.path, entry.name), 'latin1'))
    .join('\n');
}

/** The project is remembered: what its index needs is asked for at once. `step` runs a step, `picture` keeps a screenshot. */
export async function remoteModel(editor, step, picture) {
  const { page } = editor;
  const data = join(editor.folder, 'data');
  const remote = standIn(editor);
  // The machine where the server runs: neither a folder nor a synchronised setting says where text goes.
  mkdirSync(join(data, 'Machine'), { recursive: true });
  writeFileSync(join(data, 'Machine/settings.json'), JSON.stringify(remote.settings));
  const dialog = page.locator('.monaco-dialog-box');
  const list = page.locator('.quick-input-widget');
  const row = name => list.getByRole('option', { name });
  const run = title => editor.command(`Carrel: ${title}`);

  await step('an index that needs a remote model opens the dialog, with all that is decided', async () => {
    await dialog.getByText('Carrel: allow text to be sent to a remote model?').waitFor();
    await dialog.getByText('Text of your code and of your questions leaves this machine.').waitFor();
    await dialog.getByText('provider: stand-in').waitFor();
    await dialog.getByText('host: models.example').waitFor();
    await picture('dialog');
  });

  await step('Enter, which may be meant for a text, allows nothing', async () => {
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await run('Models and Keys');
    await row(/embedder: stand-in.*not allowed yet · no key found/).waitFor();
    await picture('list');
  });

  await step('a key is typed unseen, kept, and given to the server', async () => {
    await row(/Enter Key/).click();
    await row(/^stand-in/).click();
    await list.getByText('secret storage').waitFor();
    assert.equal(await list.locator('input').first().getAttribute('type'), 'password');
    await page.keyboard.type(KEY);
    await picture('key');
    await page.keyboard.press('Enter');
    await row(/embedder: stand-in.*not allowed yet · has a key/).waitFor();
  });

  await step('a test asks again, and goes on when the person clicks Allow', async () => {
    assert.deepEqual(remote.keys(), []);
    await row(/Test, asks each model/).click();
    await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
    await row(/embedder: stand-in.*, allowed · has a key .*answered in \d+ ms/).waitFor();
    await picture('tested');
    assert.deepEqual(new Set(remote.keys()), new Set([KEY]));
    await page.keyboard.press('Escape');
  });

  await step('a server that is started again gets the key again', async () => {
    const before = remote.keys().length;
    await run('Restart Server');
    await run('Test the Models');
    await row(/embedder: stand-in.*has a key .*answered in \d+ ms/).waitFor();
    assert(remote.keys().length > before);
    assert.equal(await dialog.count(), 0, 'what was allowed stays so');
  });

  await step('a key that is removed is forgotten by the server too', async () => {
    await row(/Remove Key/).click();
    await row(/^stand-in/).click();
    await row(/embedder: stand-in.*no key found/).waitFor();
  });

  await page.keyboard.press('Escape');
  await step('a folder of documents becomes a source when the person says so, and is removed in the same way', async () => {
    const runbooks = join(editor.folder, 'Run Books');
    mkdirSync(runbooks);
    writeFileSync(join(runbooks, 'restart.md'), '# Restart\n\nTake the host off the load balancer first.\n');
    await run('Sources');
    await row(/^library|workspace.*this workspace/)
      .first()
      .waitFor();
    await row(/Add a Folder of Documents/).click();
    const add = list.getByRole('button', { name: 'Add as Source' });
    await add.waitFor(); // until then the input is that of the list before
    const place = list.locator('input').first();
    for (let tries = 0; tries < 10 && (await place.inputValue()) !== `${runbooks}/`; tries += 1) {
      await place.fill(`${runbooks}/`);
      await page.waitForTimeout(1000); // the dialog looks at the folder while one types, and may begin with another
    }
    await add.click();
    await list.getByText('Name of the Source').waitFor();
    assert.equal(await list.locator('input').first().inputValue(), 'run-books');
    await page.keyboard.press('Enter');
    await list.getByText('What Does It Hold?').waitFor();
    await page.keyboard.type('what the on-call does');
    await page.keyboard.press('Enter');
    await dialog.getByText('Carrel: change what is searched beside your projects?').waitFor();
    await dialog.getByText(`Place: ${runbooks}`).waitFor();
    await picture('source-dialog');
    await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
    await row(/run-books.*documents/).waitFor();
    await picture('sources');
    const settings = join(editor.folder, 'xdg_config_home/carrel/settings.toml');
    assert.match(readFileSync(settings, 'utf8'), /\[sources\.run-books\]/);
    await row(/run-books.*documents/).hover();
    await row(/run-books.*documents/)
      .getByRole('button', { name: 'Remove this source' })
      .click();
    await dialog.getByRole('button', { name: "Don't Allow" }).click();
    await row(/run-books.*documents/).hover();
    await row(/run-books.*documents/)
      .getByRole('button', { name: 'Remove this source' })
      .click();
    await dialog.getByRole('button', { name: 'Allow', exact: true }).click();
    await row(/run-books.*documents/).waitFor({ state: 'detached' });
    await row(/Add a Folder of Documents/).waitFor();
    assert.doesNotMatch(readFileSync(settings, 'utf8'), /run-books/);
    await page.keyboard.press('Escape');
  });

  await step("no file of the editor's holds the key", async () => {
    assert.match(written(data), /carrel\.models/);
    assert(!written(data).includes(KEY));
  });
}

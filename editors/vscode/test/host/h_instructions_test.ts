import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import { fileIn, until } from './carrel';

/** The files of extensions that the editor gives to its chats. */
async function given(type: string): Promise<string[]> {
  const files =
    await vscode.commands.executeCommand<{ uri: { path: string }; type: string; extensionId: string }[]>(
      '_listExtensionPromptFiles',
    );
  return files.filter(file => file.type === type && file.extensionId === 'carrel.carrel').map(({ uri }) => uri.path);
}

describe('what ordinary chats are told', () => {
  const set = (value?: boolean): Thenable<void> =>
    vscode.workspace.getConfiguration('carrel').update('agents.instructions', value, vscode.ConfigurationTarget.Global);
  after(() => set(undefined));

  it('is nothing without consent, the instructions with it, and nothing after it is withdrawn', async () => {
    assert.deepEqual(await given('instructions'), []);
    await set(true);
    const [file, ...more] = await until('the editor has them', async () => {
      const files = await given('instructions');
      return files.length > 0 && files;
    });
    assert.match(file ?? '', /\/media\/chat\/carrel\.instructions\.md$/);
    assert.deepEqual(more, []);
    for (const name of ['.github/copilot-instructions.md', 'AGENTS.md', '.github/instructions'])
      assert(!existsSync(fileIn(name).fsPath), 'nothing is written into the project');
    await set(undefined);
    await until('they are gone', async () => (await given('instructions')).length === 0);
  });

  it('is a prompt that a person calls by its name', async () => {
    assert.match((await given('prompt')).join(), /\/media\/chat\/carrel\.prompt\.md$/);
  });
});

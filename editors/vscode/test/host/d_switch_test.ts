import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { carrel, until } from './carrel';

describe('switching the memory on', () => {
  it('sets it for this folder, and a chat turn gets its context', async () => {
    const { server, memory } = await carrel();
    await vscode.commands.executeCommand('carrel.turnOn');
    const settings = vscode.workspace.getConfiguration('carrel');
    assert.equal(settings.inspect('ragEnabled')?.workspaceValue, true);
    assert.equal(settings.inspect('ragEnabled')?.globalValue, undefined);
    const text = await until('the server knows', async () => {
      const turn = await server.request('carrel/augment', { text: 'how is a login checked?', trigger: 'chat' });
      return turn.text !== turn.original && turn.text;
    });
    assert.match(text, /authenticate_user[^]*\n\nhow is a login checked\?$/);
    await until('the status bar', () => memory.item.text.includes('$(library)'));
  });

  it('a setting that is taken back is the default again', async () => {
    const { server } = await carrel();
    // The one that can be seen from here last: the server takes them in turn.
    for (const key of ['ragAutoIndex', 'ragEnabled'])
      await vscode.workspace.getConfiguration('carrel').update(key, undefined, vscode.ConfigurationTarget.Workspace);
    await until('the server knows', async () => {
      const turn = await server.request('carrel/augment', { text: 'how is a login checked?', trigger: 'chat' });
      return turn.text === turn.original;
    });
  });

  it('clears the index', async () => {
    const { memory } = await carrel();
    assert((await memory.clear()) > 0);
    assert.equal(memory.state.all[0]?.state, 'empty');
  });

  it('with the memory off and no index, a question indexes first, in sight, and is answered from all of it', async () => {
    const { server, memory } = await carrel();
    const messages: string[] = [];
    const following = server.onProgress(() => messages.push(memory.state.work?.message ?? ''));
    const input = { query: 'how is a login checked?' };
    const result = await vscode.lm.invokeTool('carrel_search', { input, toolInvocationToken: undefined });
    following.dispose();
    assert.match((result.content[0] as vscode.LanguageModelTextPart).value, /authenticate_user/);
    assert(
      messages.some(message => /^\d+\/\d+ files$/.test(message)),
      messages.join(),
    );
    assert.equal(vscode.workspace.getConfiguration('carrel').get('ragEnabled'), false);
  });

  it('with auto-index, a folder that opens is indexed in sight, and the run can be stopped', async () => {
    const { server, memory } = await carrel();
    await memory.clear();
    await server.stop();
    let stopped = false;
    const following = server.onProgress(({ progress }) => {
      if (stopped || progress.kind !== 'begin') return;
      stopped = true;
      memory.cancel();
    });
    // Starts the server, for which the folder opens.
    await vscode.workspace.getConfiguration('carrel').update('ragAutoIndex', true, vscode.ConfigurationTarget.Workspace);
    await until('progress of a run that nobody asked for', () => stopped);
    await until('its end', () => memory.state.tokens.length === 0);
    following.dispose();
    await vscode.workspace.getConfiguration('carrel').update('ragAutoIndex', undefined, vscode.ConfigurationTarget.Workspace);
    await memory.refresh();
    const [status] = memory.state.all;
    assert(status && status.files < 400, `${status?.files} files`);
  });
});

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { carrel, fileIn, until } from './carrel';

describe('switching the memory on', () => {
  it('keeps it for this person and folder, writes nothing into the folder, and a chat turn gets its context', async () => {
    const { server, memory, switches } = await carrel();
    await vscode.commands.executeCommand('carrel.turnOn');
    assert.deepEqual([switches.isOn('ragEnabled'), switches.isOn('ragAutoIndex')], [true, true]);
    const settings = vscode.workspace.getConfiguration('carrel').inspect('ragEnabled');
    assert.deepEqual([settings?.workspaceValue, settings?.globalValue], [undefined, undefined]);
    assert(
      !existsSync(fileIn('.vscode/settings.json').fsPath) ||
        !/rag/.test(readFileSync(fileIn('.vscode/settings.json').fsPath, 'utf8')),
    );
    const text = await until('the server knows', async () => {
      const turn = await server.request('carrel/augment', { text: 'how is a login checked?', trigger: 'chat' });
      return turn.text !== turn.original && turn.text;
    });
    assert.match(text, /authenticate_user[^]*\n\nhow is a login checked\?$/);
    await until('the status bar', () => memory.item.text === '$(library) Carrel: ready');
  });

  it('the server goes on with one switch on, and ends with the last one', async () => {
    const { server, memory, switches } = await carrel();
    const { state } = server;
    assert(state.kind === 'running');
    await switches.turn('ragEnabled', false);
    await until('the server knows', async () => {
      const turn = await server.request('carrel/augment', { text: 'how is a login checked?', trigger: 'chat' });
      return turn.text === turn.original;
    });
    assert.equal(server.state.kind === 'running' && server.state.pid, state.pid);
    await switches.turn('ragAutoIndex', false);
    await until('it has ended', () => server.state.kind === 'stopped');
    await until('a question is answered all the same', () => /Carrel: ready$/.test(memory.item.text));
  });

  it('whoever changes their own setting afterwards means the setting', async () => {
    const { switches } = await carrel();
    const set = (value?: boolean): Thenable<void> =>
      vscode.workspace.getConfiguration('carrel').update('ragEnabled', value, vscode.ConfigurationTarget.Global);
    await set(true);
    await until('the setting counts', () => switches.isOn('ragEnabled'));
    await set(undefined);
    await until('the default counts', () => !switches.isOn('ragEnabled') && switches.chosen('ragEnabled') === undefined);
  });

  it('clears the index', async () => {
    const { memory } = await carrel();
    assert((await memory.clear()) > 0);
    await until('the index is empty', () => memory.state.all[0]?.state === 'empty');
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
    const { server, memory, switches } = await carrel();
    await memory.clear();
    await server.stop();
    let stopped = false;
    const following = server.onProgress(({ progress }) => {
      if (stopped || progress.kind !== 'begin') return;
      stopped = true;
      memory.cancel();
    });
    // Starts the server, for which the folder opens.
    await switches.turn('ragAutoIndex', true);
    await until('progress of a run that nobody asked for', () => stopped);
    await until('its end', () => memory.state.tokens.length === 0);
    following.dispose();
    await switches.turn('ragAutoIndex', undefined);
    await memory.refresh();
    const [status] = memory.state.all;
    assert(status && status.files < 400, `${status?.files} files`);
  });
});

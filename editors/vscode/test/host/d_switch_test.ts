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
    for (const key of ['ragEnabled', 'ragAutoIndex']) await vscode.workspace.getConfiguration('carrel').update(key, undefined, vscode.ConfigurationTarget.Workspace);
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
});

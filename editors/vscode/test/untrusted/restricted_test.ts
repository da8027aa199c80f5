import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import { decide } from '../../src/models/permission';
import { PERSON } from '../../src/models/person';
import { carrel, fileIn } from '../host/carrel';

describe('an untrusted folder', () => {
  it('neither chooses a program nor switches the memory on', async () => {
    assert.equal(vscode.workspace.isTrusted, false);
    assert(existsSync(fileIn('.vscode/settings.json').fsPath), "the folder's settings ask for both");
    const { server, switches, memory } = await carrel();
    assert.equal(server.state.kind, 'stopped');
    assert.equal(switches.usable, false);
    const global = vscode.ConfigurationTarget.Global;
    await vscode.workspace.getConfiguration('carrel').update('ragAutoIndex', true, global);
    assert.equal(switches.anyOn, false, "not even the person's own setting indexes by itself what they don't trust");
    assert.equal(server.state.kind, 'stopped');
    await vscode.workspace.getConfiguration('carrel').update('ragAutoIndex', undefined, global);
    assert(memory.tree.getChildren().some(({ description }) => description === 'off in Restricted Mode'));
    await vscode.commands.executeCommand('carrel.memory.index');
    const { state } = (await carrel()).server;
    assert(state.kind === 'running' && state.description.startsWith('bundled server'));
    assert(!existsSync(fileIn('ran').fsPath), "the folder's program was not run");
    const turn = await server.request('carrel/augment', { text: 'how is a login checked?', trigger: 'chat' });
    assert.equal(turn.text, turn.original, 'chat turns stay as they are');
  });

  it('allows no remote model, and shows no dialog that could', async () => {
    const shown: string[] = [];
    const person = { ...PERSON, choose: (question: string) => Promise.resolve((shown.push(question), 'Allow')) };
    const params = { what: 'provider', risk: 'Text leaves this machine.', details: { host: 'models.example' }, hash: 'x' };
    assert.deepEqual(await decide(params, person), { allowed: false });
    assert.deepEqual(shown, []);
  });

  it('has no MCP server for agents, whoever asks for one', async () => {
    await vscode.workspace.getConfiguration('carrel').update('mcp.enabled', true, vscode.ConfigurationTarget.Global);
    assert.deepEqual(await (await carrel()).mcp.provideMcpServerDefinitions(), []);
  });

  it('is searched when a person asks', async () => {
    const pack = await vscode.commands.executeCommand<{ text: string }>('carrel.copyContext', 'how is a login checked?');
    assert.match(pack.text, /authenticate_user/);
  });
});

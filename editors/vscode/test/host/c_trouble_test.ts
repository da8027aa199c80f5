import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { carrel, until } from './carrel';

async function set(key: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration('carrel').update(key, value, vscode.ConfigurationTarget.Global);
}

describe('trouble', () => {
  afterEach(async () => {
    await set('server.python', undefined);
    await set('server.path', undefined);
  });

  it('a Python that is set and no good: one message says so', async () => {
    const { server, memory } = await carrel();
    await set('server.python', '/nowhere/python3');
    const failed = await until('a failure', () => server.state.kind === 'failed' && server.state);
    assert.equal(failed.problem, "The setting carrel.server.python names /nowhere/python3, which can't be run.");
    assert.match(failed.remedy, /Python 3\.11 to 3\.14/);
    assert.match(memory.item.text, /warning/);
    const report = await vscode.commands.executeCommand<string>('carrel.doctor');
    assert.match(report, /· \/nowhere\/python3 can't be run\n[^]*✗ The setting carrel\.server\.python/);
  });

  it('a program that is no server is recognised', async () => {
    const { server } = await carrel();
    await set('server.path', process.execPath); // it knows --version, and nothing of `serve`
    await until('a failure', () => server.state.kind === 'failed' && /can't start: /.test(server.state.problem));
  });

  it('is over when the setting is right again', async () => {
    const { server } = await carrel();
    await until('a server', () => server.state.kind === 'running');
    const report = await vscode.commands.executeCommand<string>('carrel.doctor');
    assert.match(report, /✓ Chosen: bundled server/);
    assert.match(report, /- ✓ Python: /i);
    assert.match(report, /- Extension: version \d+\.\d+\.\d+, in VS Code /);
    assert.match(report, /- Server: version \S+, running as process \d+/);
    assert.match(report, /- ✓ Written by: this window's server/);
    assert.doesNotMatch(report, /pip install|make test|`carrel /, 'what it advises can be done in an editor');
    const document = vscode.window.activeTextEditor?.document;
    assert.equal(document?.getText(), report);
    assert(document.uri.scheme === 'carrel-doctor', 'which nobody edits by mistake');
  });

  it('who asks while the server stops gets the next one', async () => {
    const { server, memory } = await carrel();
    await server.start();
    const { state } = server;
    const [, status] = await Promise.all([server.stop(), memory.refresh().then(() => memory.state.all[0])]);
    assert(status);
    assert(state.kind === 'running' && server.state.kind === 'running');
    assert.notEqual(server.state.pid, state.pid);
  });

  it('a server that dies again and again is given up, until a person tries again', async () => {
    const { server } = await carrel();
    await vscode.commands.executeCommand('carrel.restartServer'); // forgets the deaths of earlier tests
    const killed = new Set<number>();
    const failed = await until(
      'it is given up',
      () => {
        const { state } = server;
        if (state.kind === 'failed') return state;
        if (state.kind === 'running' && state.pid && !killed.has(state.pid)) {
          killed.add(state.pid);
          process.kill(state.pid, 'SIGKILL');
        }
        return undefined;
      },
      50,
    );
    assert.match(failed.problem, /again and again/);
    assert.equal(killed.size, 6);
    await vscode.commands.executeCommand('carrel.restartServer');
    assert.equal(server.state.kind, 'running');
  });
});

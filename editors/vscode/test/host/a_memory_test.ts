import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import type { Node } from '../../src/memory/nodes';
import { carrel, folder, until } from './carrel';

function walk(nodes: readonly Node[]): Node[] {
  return nodes.flatMap(node => [node, ...walk(node.children ?? [])]);
}

describe('the memory of a project', () => {
  it('starts with nothing running, and says so', async () => {
    const { server, memory, activationMs } = await carrel();
    assert.equal(server.state.kind, 'stopped');
    assert.match(memory.item.text, /Carrel: on request$/);
    assert.deepEqual(memory.tree.getChildren(), [], 'the view shows its welcome');
    assert(activationMs < 100, `activation took ${activationMs} ms`);
    const commands = await vscode.commands.getCommands(true);
    for (const command of [
      'carrel.doctor',
      'carrel.showLog',
      'carrel.memory.index',
      'carrel.memory.cancel',
      'carrel.memory.clear',
    ]) {
      assert(commands.includes(command), command);
    }
  });

  it('stops an index run when it is cancelled', async () => {
    const { server, memory } = await carrel();
    let seen = false;
    const following = server.onProgress(() => {
      if (!seen && /^\d+\/\d+ files$/.test(memory.state.work?.message ?? '')) {
        seen = true;
        void vscode.commands.executeCommand('carrel.memory.cancel');
      }
    });
    const results = await vscode.commands.executeCommand<unknown[]>('carrel.memory.index');
    following.dispose();
    assert(seen, 'progress with a count came');
    assert.deepEqual(results, []);
    assert.equal(memory.state.work, undefined);
    assert.match(memory.cancelled(), /^cancelled, [\d,]+ files? kept$/);
    const [status] = memory.state.all;
    assert.equal(status?.complete, false);
    if (status.files) assert.match(memory.item.text, /: [\d,]+ of 4\d\d files: resume$/);
  });

  it('waits for a moment only where a part of the project is indexed, and says so', async () => {
    const { server, memory } = await carrel();
    const request = server.request.bind(server);
    const waits: unknown[] = [];
    server.request = (method, params, token) => {
      if (method === 'carrel/context') waits.push((params as { waitMs?: number }).waitMs);
      return request(method, params, token);
    };
    try {
      const [status] = memory.state.all;
      const input = { query: 'how is a login checked?' };
      const result = await vscode.lm.invokeTool('carrel_search', { input, toolInvocationToken: undefined });
      if (status?.files) assert.deepEqual(waits, [3_000]);
      const text = (result.content[0] as vscode.LanguageModelTextPart).value;
      await memory.refresh();
      if (memory.state.all[0]?.unfinished) assert.match(text, /The index is unfinished: .*“Carrel: Index This Project”/);
    } finally {
      server.request = request;
    }
    await vscode.commands.executeCommand('carrel.memory.index');
    await memory.clear(); // for the next one to begin anew
  });

  it('indexes with progress in numbers of files', async () => {
    const { server, memory } = await carrel();
    const messages: string[] = [];
    const badges: string[] = [];
    const following = server.onProgress(({ progress }) => {
      if (progress.kind === 'report') messages.push(progress.message ?? '');
      badges.push(memory.item.text);
    });
    const results = await vscode.commands.executeCommand<{ added: number }[]>('carrel.memory.index');
    following.dispose();
    assert.equal(results.length, 1);
    assert(
      messages.some(message => /^\d+\/\d+ files$/.test(message)),
      messages.join(),
    );
    assert(
      badges.some(text => /sync~spin.*indexing, [▰▱]{8} [\d,]+ of [\d,]+ files$/.test(text)),
      badges.join(),
    );
    assert.equal(server.state.kind, 'running');
    const status = await until('a ready index', () => memory.state.all.find(({ state }) => state === 'ready'));
    assert.equal(status.workspaceFolder, folder().uri.toString());
    assert(status.files > 400);
  });

  it('costs nothing at rest', async () => {
    const { server } = await carrel();
    const { state } = server;
    assert(state.kind === 'running' && state.pid);
    const spent = (): number => {
      const fields = readFileSync(`/proc/${state.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return 10 * (Number(fields[11]) + Number(fields[12])); // ticks of 10 ms: user and system
    };
    const settled = await until('it has settled', async () => {
      const before = spent();
      await new Promise(resolve => setTimeout(resolve, 500));
      return before === spent() && before;
    });
    await new Promise(resolve => setTimeout(resolve, 5_000));
    assert(spent() - settled <= 20, `${spent() - settled} ms of processor time in 5 s`);
  });

  it('shows files, languages, size, model and what was left out', async () => {
    const { memory } = await carrel();
    await memory.refresh();
    const nodes = walk(memory.tree.getChildren());
    const node = (label: string): Node => nodes.find(one => one.label === label) ?? assert.fail(`no node ${label}`);
    assert.match(node('Index').description ?? '', /^ready/);
    assert.match(node('Files').description ?? '', /^4\d\d$/);
    assert.match(node('python').description ?? '', /files$/);
    assert.match(node('typescript').description ?? '', /1 file$/);
    assert.match(node('Size').description ?? '', /B$/);
    assert.equal(node('Search model').description, 'built in, runs here');
    assert(
      node('Left out').children?.some(reason => reason.children?.some(({ label }) => label === '.env')),
      'the secret is listed',
    );
    assert.doesNotThrow(() => nodes.map(one => memory.tree.getTreeItem(one)));
    assert.equal(new Set(nodes.map(({ id }) => id)).size, nodes.length, 'ids are unique');
  });
});

import assert from 'node:assert/strict';
import { memoryNodes, type Choices } from '../../src/memory/nodes';
import { MemoryState } from '../../src/memory/state';
import { badge, bytes, stateOf } from '../../src/memory/labels';
import type { StatusResult } from '../../src/protocol';

const STATUS: StatusResult = {
  workspaceFolder: 'file:///shop',
  state: 'ready',
  role: 'writer',
  files: 3,
  chunks: 9,
  bytes: 12_345,
  languages: { python: 1, typescript: 2 },
  model: { id: 'm', dims: 256 },
  store: '/cache/shop',
  pending: 0,
  skipped: [
    { path: '.env', reason: 'secret' },
    { path: 'a.key', reason: 'secret' },
  ],
  failed: [],
  failedFiles: 0,
  maskedFiles: 0,
  maskedSecrets: 0,
};
const CHOICES: Choices = { enabled: false, autoIndex: true, topK: 5, budget: { chars: 4000 } };
const RUNNING = { kind: 'running', version: '1', pid: 1, description: '' } as const;

describe('the state of the memory', () => {
  it('keeps the skipped files that a brief status leaves out, until the index is empty', () => {
    const state = new MemoryState();
    state.update(STATUS, false);
    state.update({ ...STATUS, chunks: 10, skipped: [] }, true);
    assert.equal(state.status('file:///shop')?.chunks, 10);
    assert.equal(state.status('file:///shop')?.skipped.length, 2);
    state.update({ ...STATUS, files: 0, skipped: [] }, true);
    assert.equal(state.status('file:///shop')?.skipped.length, 0);
  });

  it('keeps the failed files that a brief status leaves out, until none fails', () => {
    const state = new MemoryState();
    state.update({ ...STATUS, failed: [{ path: 'a.py', reason: 'the model is down' }], failedFiles: 1 }, false);
    state.update({ ...STATUS, failed: [], failedFiles: 1 }, true);
    assert.equal(state.status('file:///shop')?.failed.length, 1);
    state.update({ ...STATUS, failed: [], failedFiles: 0 }, true);
    assert.equal(state.status('file:///shop')?.failed.length, 0);
  });

  it('forgets folders that were closed', () => {
    const state = new MemoryState();
    state.update({ ...STATUS, workspaceFolder: 'file:///a' }, false);
    state.update({ ...STATUS, workspaceFolder: 'file:///b' }, false);
    state.keep(({ workspaceFolder }) => workspaceFolder === 'file:///b');
    assert.deepEqual(
      state.all.map(({ workspaceFolder }) => workspaceFolder),
      ['file:///b'],
    );
  });

  it('knows its work from the first report to the end', () => {
    const state = new MemoryState();
    state.progress('t', { kind: 'begin', title: 'Indexing shop', percentage: 0 });
    state.progress('t', { kind: 'report', message: '2/4 files', percentage: 50 });
    assert.deepEqual(state.work, { title: 'Indexing shop', message: '2/4 files', percentage: 50 });
    assert.deepEqual(state.tokens, ['t']);
    state.progress('t', { kind: 'end' });
    assert.equal(state.indexing, false);
  });
});

describe('the words of the memory', () => {
  it('are plain', () => {
    assert.equal(bytes(999), '999 B');
    assert.equal(bytes(12_345), '12 KB');
    assert.equal(bytes(1_234_567), '1.2 MB');
    assert.equal(stateOf({ ...STATUS, pending: 1 }), 'ready, 1 file to update');
    assert.equal(stateOf({ ...STATUS, state: 'error', error: 'the disk is full' }), 'the disk is full');
  });

  it('show trouble first, then work, then whether it is on', () => {
    const work = { title: 'Indexing shop', message: '2/4 files', percentage: 50 };
    assert.equal(badge({ kind: 'failed', problem: 'p', remedy: 'r' }, [], work, true).trouble, true);
    assert.equal(badge(RUNNING, [STATUS], work, true).text, '$(sync~spin) Carrel 2/4 files');
    assert.equal(badge(RUNNING, [STATUS], undefined, true).text, '$(library) Carrel');
    assert.equal(badge(RUNNING, [STATUS], undefined, false).text, '$(circle-slash) Carrel');
  });
});

describe('the Memory view', () => {
  it('groups what was left out by its reason', () => {
    const nodes = memoryNodes(CHOICES, RUNNING, undefined, [{ name: 'shop', uri: 'file:///shop', status: STATUS }], []);
    const left = nodes.find(({ label }) => label === 'Left out');
    assert.deepEqual(
      left?.children?.map(({ label, description }) => [label, description]),
      [['secret', '2 files']],
    );
    assert.deepEqual(
      nodes.flatMap(({ toggle }) => (toggle ? [toggle.on] : [])),
      [false, true],
    );
  });

  it('has a level for each folder when there are several', () => {
    const folders = ['a', 'b'].map(name => ({ name, uri: `file:///${name}`, status: undefined }));
    const nodes = memoryNodes(CHOICES, RUNNING, undefined, folders, []);
    assert.deepEqual(
      nodes.filter(({ context }) => context === 'folder').map(({ label }) => label),
      ['a', 'b'],
    );
  });
});

import assert from 'node:assert/strict';
import { env } from './editor_texts';
import { memoryNodes, type Choices } from '../../src/memory/nodes';
import { MemoryState } from '../../src/memory/state';
import { badge, bytes, cancelledText, numeral, progressText, stateOf } from '../../src/memory/labels';
import type { StatusResult } from '../../src/protocol';

const STATUS: StatusResult = {
  workspaceFolder: 'file:///shop',
  name: 'shop',
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
const CHOICES: Choices = { enabled: false, autoIndex: true, usable: true, topK: 5, budget: { chars: 4000 } };
const RUNNING = { kind: 'running', version: '1', pid: 1, description: '' } as const;

describe('the state of the memory', () => {
  it('keeps the skipped files that a brief status leaves out, until the index is empty', () => {
    const state = new MemoryState();
    state.update({ ...STATUS, leftOut: { binary: 1_200 } }, false);
    state.update({ ...STATUS, chunks: 10, skipped: [] }, true);
    assert.equal(state.status('file:///shop')?.chunks, 10);
    assert.equal(state.status('file:///shop')?.skipped.length, 2);
    assert.equal(state.status('file:///shop')?.leftOut?.binary, 1_200);
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

  it('does not take an index that is still to be opened for one that is not there', () => {
    const state = new MemoryState();
    const closed = { ...STATUS, state: 'empty', role: 'closed', files: 0 } as const;
    state.update(closed, true);
    assert.equal(state.all.length, 0);
    state.update(closed, false); // it was asked for, so there is none
    assert.equal(state.all[0]?.state, 'empty');
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

  it('shows no run as going on that ended with the server', () => {
    const state = new MemoryState();
    state.update({ ...STATUS, state: 'indexing' }, false);
    state.update({ ...STATUS, workspaceFolder: 'file:///new', state: 'indexing', files: 0 }, false);
    assert(state.indexing);
    state.forgetWork();
    assert.deepEqual(
      state.all.map(status => status.state),
      ['ready', 'empty'],
    );
    assert(!state.indexing);
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
    env.language = 'de';
    assert.deepEqual([bytes(1_234_567), numeral(3_758), numeral(0.5, 2)], ['1,2 MB', '3.758', '0,50']);
    env.language = 'en';
    assert.equal(stateOf({ ...STATUS, pending: 1 }), 'ready, 1 file to update');
    assert.equal(stateOf({ ...STATUS, state: 'error', error: 'the disk is full' }), 'the disk is full');
  });

  it('offer a Python where that is what is missing', () => {
    const lacking = { kind: 'failed', problem: 'p', remedy: 'r', lacks: 'python' } as const;
    const { text, command } = badge(lacking, [], undefined, { on: true, usable: true });
    assert.deepEqual([text, command], ['$(warning) Carrel: needs Python', 'carrel.getPython']);
    const [row] = memoryNodes(CHOICES, lacking, undefined, [], []).filter(({ id }) => id === 'failed');
    assert.equal(row?.command?.id, 'carrel.getPython');
  });

  it('show trouble first, then work, then whether it is on', () => {
    const work = { title: 'Indexing shop', message: '18445/50001 files', percentage: 36 };
    const on = { on: true, usable: true };
    assert.equal(badge({ kind: 'failed', problem: 'p', remedy: 'r' }, [], work, on).trouble, true);
    assert.equal(badge(RUNNING, [STATUS], work, on).text, '$(sync~spin) Carrel: indexing, ▰▰▰▱▱▱▱▱ 18,445 of 50,001 files');
    for (const [percentage, bar] of [
      [3, '▱▱▱▱▱▱▱▱'],
      [12, '▰▱▱▱▱▱▱▱'],
      [99, '▰▰▰▰▰▰▰▱'],
      [100, '▰▰▰▰▰▰▰▰'],
    ] as const)
      assert.ok(progressText({ ...work, percentage }).startsWith(`${bar} `));
    assert.match(badge(RUNNING, [STATUS], { ...work, message: '' }, on).text, /indexing, looking for changed files$/);
    assert.equal(badge(RUNNING, [STATUS], undefined, on).text, '$(library) Carrel: ready');
    assert.equal(badge(RUNNING, [], undefined, on).text, '$(sync~spin) Carrel: opening');
    const off = { on: false, usable: true };
    assert.equal(badge(RUNNING, [STATUS], undefined, off).text, '$(library) Carrel: ready', 'the index answers');
    assert.equal(badge({ kind: 'stopped' }, [], undefined, off).text, '$(library) Carrel: on request');
    assert.match(badge({ kind: 'stopped' }, [], undefined, { ...off, usable: false }).tooltip, /Restricted Mode .* trust/);
    assert.equal(badge(RUNNING, [STATUS], work, on).spoken, 'Carrel: indexing, 18,445 of 50,001 files');
  });

  it('say of several folders what is true of all', () => {
    const other = { ...STATUS, workspaceFolder: 'file:///b/shop', name: 'b-shop', files: 0, chunks: 0, state: 'empty' } as const;
    for (const on of [true, false]) {
      const { text, tooltip, command } = badge(RUNNING, [STATUS, other], undefined, { on, usable: true });
      assert.deepEqual([text, command], ['$(library) Carrel: 1 of 2 folders indexed', 'carrel.memory.index']);
      assert.match(tooltip, /\nshop: ready: .*\nb-shop: not indexed yet/);
      assert.match(badge(RUNNING, [STATUS, { ...other, state: 'indexing' }], undefined, { on, usable: true }).text, /indexing$/);
    }
  });

  it('offer to go on with a run that was cancelled', () => {
    const partial = { ...STATUS, files: 18_445, complete: false, unfinished: 31_556 };
    const { text, command } = badge(RUNNING, [partial], undefined, { on: true, usable: true });
    assert.deepEqual([text, command], ['$(debug-pause) Carrel: 18,445 of 50,001 files: resume', 'carrel.memory.index']);
    assert.equal(stateOf(partial), '18,445 of 50,001 files: resume');
    assert.equal(stateOf({ ...partial, unfinished: 0 }), '18,445 files, not all: resume');
    assert.match(
      badge(RUNNING, [{ ...partial, role: 'follower' }], undefined, { on: true, usable: true }).tooltip,
      /another window/,
    );
    assert.equal(cancelledText([partial]), 'cancelled, 18,445 files kept');
  });
});

describe('the Memory view', () => {
  it('tells folders of one name apart as answers do', () => {
    const folder = (name: string, path: string) => ({
      name,
      uri: `file:///${path}`,
      status: { ...STATUS, name: path.replace('/', '-') },
    });
    const folders = [folder('shop', 'a/shop'), folder('shop', 'b/shop'), folder('Press', 'press')];
    const nodes = memoryNodes(CHOICES, RUNNING, undefined, folders, []).filter(({ context }) => context === 'folder');
    assert.deepEqual(
      nodes.map(({ label }) => label),
      ['a-shop', 'b-shop', 'Press'],
    );
  });

  it('says that the budget decides how many places an answer has, until a person says so', () => {
    const said = (topK?: number) =>
      memoryNodes({ ...CHOICES, topK }, RUNNING, undefined, [], []).find(({ id }) => id === 'topK')?.description;
    assert.deepEqual([said(), said(3)], ['as many as fit', 'at most 3']);
  });

  it('groups what was left out by its reason', () => {
    const nodes = memoryNodes(CHOICES, RUNNING, undefined, [{ name: 'shop', uri: 'file:///shop', status: STATUS }], []);
    const left = nodes.find(({ label }) => label === 'Left out');
    assert.deepEqual(
      left?.children?.map(({ label, description }) => [label, description]),
      [['secret', '2 paths']],
    );
    assert.deepEqual(
      nodes.flatMap(({ toggle }) => (toggle ? [toggle.on] : [])),
      [false, true],
    );
  });

  it('counts all that was left out, of which the server lists a thousand', () => {
    const status = { ...STATUS, leftOut: { secret: 1_500, large: 3 } };
    const nodes = memoryNodes(CHOICES, RUNNING, undefined, [{ name: 'shop', uri: 'file:///shop', status }], []);
    const left = nodes.find(({ label }) => label === 'Left out');
    assert.equal(left?.description, '1,503 paths');
    assert.deepEqual(
      left.children?.map(({ label, description }) => [label, description]),
      [
        ['secret', '1,500 paths'],
        ['large', '3 paths'],
      ],
    );
    assert.equal(left.children[0]?.children?.at(-1)?.label, 'and 1,498 more');
  });

  it('tells of pieces without a vector, where there are any', () => {
    const rows = (chunksWithoutVectors: number): (string | undefined)[] =>
      memoryNodes(
        CHOICES,
        RUNNING,
        undefined,
        [{ name: 'shop', uri: 'file:///shop', status: { ...STATUS, chunksWithoutVectors } }],
        [],
      )
        .filter(({ label }) => label === 'Without a vector')
        .map(({ description }) => description);
    assert.deepEqual(rows(0), []);
    assert.deepEqual(rows(1_204), ['1,204 pieces, found by words']);
  });

  it('is empty before the first index, for the welcome to be seen', () => {
    const folders = [{ name: 'shop', uri: 'file:///shop', status: undefined }];
    const off = { ...CHOICES, autoIndex: false };
    assert.deepEqual(memoryNodes(off, { kind: 'stopped' }, undefined, folders, []), []);
    assert.deepEqual(memoryNodes(off, { kind: 'starting' }, undefined, folders, []), []); // to see whether there is an index
    assert.notDeepEqual(memoryNodes(CHOICES, RUNNING, undefined, folders, []), []);
  });

  it('says how much goes with a question, not what the default would be without a model', () => {
    const budgetOf = (choices: Partial<Choices>): string | undefined =>
      memoryNodes({ ...CHOICES, ...choices }, RUNNING, undefined, [], []).find(({ id }) => id === 'budget')?.description;
    assert.equal(budgetOf({ growsTo: 8_000 }), 'up to 8,000 tokens');
    assert.equal(budgetOf({ budget: { tokens: 1_500 } }), '1,500 tokens');
    assert.equal(budgetOf({ budget: { chars: 4_000 } }), '4,000 characters');
  });

  it('says in Restricted Mode why nothing can be switched on', () => {
    const folders = [{ name: 'shop', uri: 'file:///shop', status: undefined }];
    const nodes = memoryNodes({ ...CHOICES, autoIndex: false, usable: false }, { kind: 'stopped' }, undefined, folders, []);
    assert(!nodes.some(({ toggle }) => toggle));
    const switches = nodes.filter(({ command }) => command?.id === 'workbench.trust.manage');
    assert.deepEqual(
      switches.map(({ description }) => description),
      ['off in Restricted Mode', 'off in Restricted Mode'],
    );
    assert(switches.every(({ tooltip }) => /isn't trusted/.test(tooltip ?? '')));
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

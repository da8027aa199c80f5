import assert from 'node:assert/strict';
import type { SourceResult } from '../../src/protocol';
import { addressProblem, nameProblem, sourceRows, suggestedName } from '../../src/sources/rows';

const RUNBOOKS: SourceResult = {
  id: 'runbooks',
  kind: 'documents',
  description: 'what the on-call does',
  folder: '/home/me/runbooks',
  state: 'ready',
  files: 7,
  chunks: 20,
  pending: 0,
};

describe('the list of sources', () => {
  it('says what each is, how it is, and what to mend', () => {
    const rows = sourceRows({ ...RUNBOOKS, problems: ['pypdf is missing'], failed: [{ path: 'a.pdf', reason: 'encrypted' }] });
    assert.deepEqual(
      rows.map(({ label, description, detail }) => [label, description, detail]),
      [
        ['$(book) runbooks', 'documents · ready · 7 files', '/home/me/runbooks — what the on-call does'],
        ['$(warning) pypdf is missing', undefined, undefined],
        ['$(warning) 1 file can’t be read: a.pdf', undefined, undefined],
      ],
    );
  });

  it("doesn't offer to remove the workspace", () => {
    assert.equal(sourceRows({ ...RUNBOOKS, id: 'workspace', kind: 'code' })[0]?.source, undefined);
    assert.equal(sourceRows(RUNBOOKS)[0]?.source, 'runbooks');
  });
});

describe('what is typed for a source', () => {
  it('is checked while it is typed', () => {
    for (const good of ['runbooks', 'a', '2024-notes', 'x'.repeat(40)]) assert.equal(nameProblem(good, []), undefined);
    for (const bad of ['', 'Run Books', '-a', 'ü', 'x'.repeat(41)]) assert(nameProblem(bad, []), bad);
    assert.match(nameProblem('ops', ['workspace', 'ops']) ?? '', /is a source already/);
    for (const good of ['mcp://wiki', 'mcp://wiki/note://']) assert.equal(addressProblem('resources', good), undefined);
    for (const good of ['qdrant://host:6333/acme/billing', 'qdrant://host/a']) {
      assert.equal(addressProblem('repository', good), undefined);
    }
    for (const bad of ['', 'mcp://', 'https://wiki', 'mcp://a b']) assert(addressProblem('resources', bad), bad);
    for (const bad of ['qdrant://', 'qdrant://host', 'qdrant://host:1/']) assert(addressProblem('repository', bad), bad);
  });

  it('has a name to begin with, which is free', () => {
    const cases = [
      ['/home/me/Run Books/', [], 'run-books'],
      ['C:\\ops\\Runbooks', ['runbooks'], 'runbooks-2'],
      ['mcp://wiki', ['wiki', 'wiki-2'], 'wiki-3'],
      ['/', [], 'documents'],
    ] as const;
    for (const [place, taken, name] of cases) assert.equal(suggestedName(place, taken), name);
  });
});

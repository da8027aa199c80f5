import assert from 'node:assert/strict';
import { auditNodes, filterText, readable } from '../../src/audit/entries';
import type { AuditEntry } from '../../src/protocol';

const HASHED = { hash: '561487f32aa34170', chars: 1300 };
const GIVEN: AuditEntry = {
  number: 7,
  at: '2026-11-22T18:59:51Z',
  kind: 'context',
  user: 'ann',
  details: {
    id: 'pack-1',
    caller: 'editor: Visual Studio Code',
    question: HASHED,
    places: [1, 2, 3].map(line => ({ path: 'a.py', lines: [line, line + 4], score: 0.5, rules: { words: 0.7088 } })),
  },
};
const entry = (kind: string, details: Record<string, unknown>): AuditEntry => ({ ...GIVEN, kind, details });
const rows = (...entries: AuditEntry[]): string[] =>
  auditNodes({ entries, enabled: true }, 200, () => undefined).map(({ label }) => label);

describe('the audit log in words', () => {
  for (const [what, expected] of [
    [GIVEN, 'Given to a chat: a.py:1-5, a.py:2-6 and 1 more place'],
    [entry('search', {}), 'Search: nothing found'],
    [entry('tool', { tool: 'read_file', failed: true }), 'Tool: read_file, failed'],
    [entry('answer', { model: 'gpt', answer_tokens: 1 }), 'Answer: gpt, 1 token'],
    [entry('sent', { provider: 'openai', host: 'h', texts: 2 }), 'Left this machine: 2 texts to openai at h'],
    [entry('permission', { provider: 'openai', host: 'h', allowed: false }), 'Permission: openai at h withdrawn'],
    [
      entry('pipeline', { ran: true, failed: true, steps: [{ tool: 'ops.a' }, { tool: 'sort' }] }),
      'Pipeline: ops.a, sort, failed',
    ],
    [entry('pipeline', { ran: false, steps: [] }), 'Pipeline: not run'],
    [entry('gap', { lost: 3 }), 'gap: see the entry'],
  ] as const) {
    it(`says of ${what.kind}: ${expected}`, () => assert.deepEqual(rows(what), [expected]));
  }

  it('shows the question that this window asked, and what can go wrong', () => {
    const nodes = auditNodes({ entries: [GIVEN], enabled: false, problem: 'the disk is full' }, 1, id => `asked as ${id}`);
    assert.deepEqual(
      nodes.map(({ label }) => label.replace(/:.*/, '')),
      ['Nothing can be recorded', 'Nothing is recorded at the moment', 'Given to a chat', 'Older entries'],
    );
    assert(nodes.some(({ label }) => label === 'Given to a chat: asked as pack-1'));
    assert.deepEqual(
      auditNodes(undefined, 200, () => undefined),
      [],
      'the view shows its welcome',
    );
  });

  it('makes a page of an entry: who, where, why, and every field', () => {
    const page = readable(GIVEN, 'how?');
    assert.match(page, /by ann through editor: Visual Studio Code\.\n\n> how\?/);
    assert.match(page, /## 3 places\n\n- a\.py:1-5: score 0\.50 \(words 0\.71\)\n/);
    assert.match(page, /- question: 1,300 characters, hash 561487f32aa34170\n/);
  });

  it('names a filter', () => {
    assert.equal(filterText({ kind: 'sent', since: '1d' }), 'What left this machine, the last day');
    assert.equal(filterText({ kind: '', since: '' }), 'everything, as far back as it goes');
  });
});

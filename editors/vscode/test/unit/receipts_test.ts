import assert from 'node:assert/strict';
import type { ContextResult, HitResult } from '../../src/protocol';
import { answerNodes, receiptNodes, spent } from '../../src/receipts/nodes';
import { literalGlob, Receipts, wholeFile, type Place } from '../../src/receipts/receipts';

const POSITION = { line: 0, character: 0 };
const HIT: HitResult = {
  id: 'h',
  uri: 'file:///shop/src/auth.py',
  path: 'src/auth.py',
  startLine: 1,
  endLine: 4,
  range: { start: POSITION, end: POSITION },
  symbol: 'login',
  kind: 'function',
  language: 'python',
  score: 0.834,
  signals: { dense: 0.7, denseRank: 2, fused: 1, matched: ['login', 'check'], boosts: [{ rule: 'name', factor: 1.2 }] },
  text: 'def login(): …',
  definitions: ['login'],
  imports: [],
  contentHash: '',
  updatedAt: '',
  source: 'code',
  masked: 0,
};
const PACK: ContextResult = {
  id: 'p',
  text: 'é𝄞',
  format: 'xml',
  tokens: 1_200,
  budgetChars: 4_000,
  tokenizer: 'cl100k_base',
  hits: [HIT],
  dropped: [{ path: 'a.py', startLine: 1, endLine: 9, reason: 'budget' }],
  query: 'q',
  state: 'ready',
  pending: 0,
  elapsedMs: 3,
  stages: {},
};

function receipts(): Receipts {
  const pinStorage = new Map<string, readonly string[]>();
  return new Receipts({ get: key => pinStorage.get(key), update: (key, value) => pinStorage.set(key, value) });
}

const receipt = (id: string, text = 'q'): Parameters<Receipts['add']>[0] => ({
  question: { text, from: 'chat' },
  details: {},
  pack: { ...PACK, id },
  at: new Date(),
});

describe('receipts', () => {
  it('show the newest until another is chosen, and end somewhere', () => {
    const kept = receipts();
    for (let i = 0; i < 30; i += 1) kept.add(receipt(`p${i}`));
    assert.equal(kept.shown?.pack.id, 'p29');
    kept.show('p20');
    assert.equal(kept.shown.pack.id, 'p20');
    assert.equal(kept.all.length, 20);
  });

  it('say what was sent where', () => {
    const sent = {
      provider: 'openai',
      host: 'api.openai.com',
      what: 'embedder',
      requests: 1,
      texts: 1,
      bytes: 90,
      tokens: 8,
      cost: 0.0002,
    } as const;
    const shown = receipt('p');
    const nodes = receiptNodes({ ...shown, pack: { ...shown.pack, sent: [sent] } }, [], []);
    const node = nodes.find(({ id }) => id === 'sent');
    assert.equal(node?.description, 'api.openai.com');
    assert.deepEqual(
      node.children?.map(({ label, description }) => [label, description]),
      [['openai at api.openai.com', 'embedder · 1 request · 1 text · 90 bytes · $0.0002']],
    );
    assert(!receiptNodes(shown, [], []).some(({ id }) => id === 'sent'));
  });

  it('remember removals for a question and pins for all', async () => {
    const kept = receipts();
    const [first, second] = [1, 11].map(startLine => ({ uri: HIT.uri, path: HIT.path, startLine, endLine: startLine + 9 }));
    assert(first && second);
    kept.remove('q', first);
    kept.remove('q', second);
    assert.deepEqual([kept.removed('q'), kept.removed('other')], [[first, second], []]);
    kept.restore('q', HIT);
    assert.deepEqual(kept.removed('q'), [second], 'one place comes back without the other');
    kept.remove('q', wholeFile(HIT));
    kept.restore('q', second);
    assert.deepEqual(kept.removed('q'), [], 'a place that comes back brings its file back');
    await kept.pin('file:///a', true);
    await kept.pin('file:///a', true);
    assert.deepEqual(kept.pinned, ['file:///a']);
  });

  it('take a path as it stands, at the root too', () => {
    assert.equal(literalGlob('src/[id]/a*.ts'), 'src/[[]id[]]/a[*].ts');
    assert.equal(literalGlob('README.md'), '{README.md,README.md/}');
    assert.equal(literalGlob('a,b.md'), '{a[,]b.md,a[,]b.md/}');
    assert.equal(literalGlob('src/a\\b.md'), 'src/a[\\]b.md');
  });
});

describe('the receipt view', () => {
  it('says what was sent, why, what it cost and what stayed out', () => {
    const nodes = receiptNodes(receipt('p'), [], []);
    const hit = nodes.find(({ label }) => label === 'src/auth.py:1-4');
    assert.equal(hit?.description, '0.83 · login · matched login, check');
    assert.deepEqual(
      hit.children?.map(({ label, description }) => `${label}: ${description ?? ''}`),
      ['Score: 0.834', 'By meaning: 0.700, place 2', 'Matched words: login, check', 'Defines: login', 'Rule name: × 1.2'],
    );
    assert.equal(nodes.find(({ label }) => label === 'Left out')?.children?.[0]?.description, 'budget');
  });

  it('counts characters as the server does, and tokens where the budget is in tokens', () => {
    assert.equal(spent(PACK), '2 of 4,000 characters');
    assert.equal(spent({ ...PACK, budgetTokens: 1_500 }), '1,200 of 1,500 tokens');
  });

  it('offers on each place what can be done with it', () => {
    const contexts = (pinned: string[], removed: Place[]): unknown[] =>
      receiptNodes(receipt('p'), pinned, removed)
        .filter(node => 'place' in node)
        .map(({ context }) => context);
    assert.deepEqual(contexts([], []), ['hit']);
    assert.deepEqual(contexts([HIT.uri], []), ['pinnedHit']);
    assert.deepEqual(contexts([], [HIT]), ['removed']);
    assert.deepEqual(contexts([], [wholeFile(HIT)]), ['removed']);
    assert.deepEqual(contexts([], [{ ...HIT, startLine: 5, endLine: 9 }]), ['hit']);
  });

  it('tells once what was removed: the place, or the file', () => {
    const dropped = [{ path: HIT.path, startLine: 1, endLine: 4, reason: 'left out of this question' }];
    const asked = { ...receipt('p'), pack: { ...PACK, hits: [], dropped } };
    const nodes = receiptNodes(asked, [], [HIT, wholeFile({ uri: 'file:///shop/b.py', path: 'b.py' })]);
    assert.deepEqual(
      nodes.find(({ label }) => label === 'Removed by you')?.children?.map(({ label }) => label),
      ['src/auth.py:1-4', 'b.py'],
    );
    assert(!nodes.some(({ label }) => label === 'Left out'));
  });

  it('tells of an empty answer and of a fault', () => {
    const empty = {
      question: { text: 'q', from: 'tool' as const },
      details: {},
      pack: { ...PACK, hits: [], error: 'the disk is full', pending: 3 },
      at: new Date(),
    };
    const labels = receiptNodes(empty, [], [HIT]).map(({ label }) => label);
    for (const label of [
      'the disk is full',
      'The index was not complete',
      'Nothing was put in front of the question',
      'Removed by you',
    ])
      assert(labels.includes(label), label);
    assert.equal(answerNodes([empty])[0]?.command?.id, 'carrel.receipt.show');
  });
});

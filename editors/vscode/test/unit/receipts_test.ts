import assert from 'node:assert/strict';
import { merged } from '../../src/receipts/merged';
import { readFileSync } from 'node:fs';
import type { ContextResult, HitResult } from '../../src/protocol';
import { firstLine, answerNodes, receiptNodes, spent } from '../../src/receipts/nodes';
import { literalGlob, Receipts, wholeFile, type Place } from '../../src/receipts/receipts';
import { shortNames, sum, why } from '../../src/receipts/why';

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
  signals: {
    dense: 0.7,
    denseRank: 2,
    fused: 1,
    matched: ['login', 'check'],
    boosts: [{ rule: 'tied', factor: 1.2 }],
    contributions: [
      { rule: 'meaning', share: 0.9 },
      { rule: 'path_penalty', share: -0.07 },
    ],
  },
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

function receipts(storage = new Map<string, unknown>()): Receipts {
  return new Receipts({ get: key => storage.get(key), update: (key, value) => storage.set(key, value) });
}

const receipt = (id: string, text = 'q'): Parameters<Receipts['add']>[0] => ({
  question: { text, from: 'chat' },
  details: {},
  pack: { ...PACK, id },
  outcome: 'sent',
  at: new Date(),
});

describe('the line below a place', () => {
  it('is the first that says something', () => {
    assert.equal(firstLine('    /**\n     * Exports a page.\n     */\n'), '* Exports a page.');
    assert.equal(firstLine('\n# 标题\n'), '# 标题');
    assert.equal(firstLine(' }\n'), '}');
  });
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

  it('outlive the window with places and numbers, and without any text of files', () => {
    const storage = new Map<string, unknown>();
    const before = receipts(storage);
    const hit = { ...HIT, symbol: 'planted', container: 'planted', text: 'planted', definitions: ['planted'], note: 'planted' };
    const pack = { ...PACK, hits: [hit], text: 'planted', query: 'planted', rewritten: 'planted' };
    const asked = { ...receipt('p'), inFront: HIT.uri, details: { topK: 3, history: [{ role: 'user', content: 'planted' }] } };
    before.add({ ...asked, pack, question: { text: 'q', query: 'planted', from: 'chat' } });
    before.add({ ...receipt('unsent'), outcome: 'waiting' });
    const written = JSON.stringify(storage.get('carrel.receipts'));
    assert.doesNotMatch(written, /planted/);
    const after = receipts(new Map([['carrel.receipts', JSON.parse(written) as unknown]]));
    const [unsent, kept] = after.all;
    assert.equal(unsent?.outcome, 'cancelled');
    assert.deepEqual([kept?.pack.hits[0]?.startLine, kept?.details.topK, kept?.at], [1, 3, before.all[1]?.at]);
    assert.equal(spent(kept?.pack ?? PACK), '1,200 tokens, limit 4,000 characters');
    assert(kept && receiptNodes(kept, [], []).some(({ label }) => label === 'auth.py:1-4'));
    for (const other of [undefined, 'x', [{}], [null], [{ question: { text: 'q' }, pack: { id: 'p' } }]])
      assert.deepEqual(receipts(new Map([['carrel.receipts', other]])).all, [], JSON.stringify(other));
  });

  it('say which sources were searched, why, and which were not', () => {
    const routes = [{ source: 'ops', query: 'q', reason: 'it holds the title' }];
    const pack = { ...PACK, routes, notSearched: ['history'] };
    const nodes = receiptNodes({ ...receipt('p'), pack }, [], []).find(({ id }) => id === 'sources')?.children ?? [];
    assert.deepEqual(
      nodes.map(({ label, description }) => `${label}: ${description}`),
      ['ops: it holds the title', 'history: not searched: nothing in the question speaks for it'],
    );
    assert.ok(!receiptNodes(receipt('p'), [], []).some(({ id }) => id === 'sources'));
  });

  it('say of each place its workspace folder, once', () => {
    const rows = (...paths: string[]): string[] => {
      const hits = paths.map(path => ({ ...HIT, id: path, path, folder: 'file:///x' }));
      const nodes = receiptNodes({ ...receipt('p'), pack: { ...PACK, hits } }, [], []).filter(({ id }) => id.startsWith('hit/'));
      return nodes.map(({ label, description = '' }) => `${label} ${description.split(' · ')[0] ?? ''}`);
    };
    assert.deepEqual(rows('red-app/auth.py', 'blue-app/auth.py'), ['red-app/auth.py:1-4 0.83', 'blue-app/auth.py:1-4 0.83']);
    assert.deepEqual(rows('shop/src/auth.py', 'press/print.py'), ['auth.py:1-4 shop', 'print.py:1-4 press']);
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

  it('show a question once, and what became of it', () => {
    const kept = receipts();
    kept.add({ ...receipt('first'), outcome: 'waiting' });
    kept.add({ ...receipt('changed'), outcome: 'waiting' }, 'first');
    kept.become('changed', 'notSent');
    kept.become('gone', 'sent');
    assert.deepEqual(
      kept.all.map(({ pack, outcome }) => [pack.id, outcome]),
      [['changed', 'notSent']],
    );
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

describe('why a place was chosen', () => {
  const plain = { ...HIT, symbol: '', definitions: [], signals: { ...HIT.signals, matched: [], boosts: [] } };

  it('is one sentence', () => {
    assert.equal(
      why(HIT, { inFront: 'file:///shop/src/orders.py', pinned: [HIT.uri] }),
      'Is pinned by you, defines login, holds “login”, “check” and uses or is used by orders.py, the file in front of you.',
    );
    assert.equal(why(HIT, { inFront: HIT.uri }), 'Defines login, holds “login”, “check” and is in the file in front of you.');
    assert.match(why({ ...HIT, source: 'docs' }), /^Is headed login and/);
    assert.equal(why(plain), 'Is close to the question in meaning.');
    assert.equal(
      why({ ...plain, definitions: ['a', 'b', 'c', 'd', 'e'] }),
      'Defines a, b, c and 2 more names and is close to the question in meaning.',
    );
    assert.equal(why({ ...HIT, attached: true }), 'You selected or attached these lines.');
    const combined = { ...plain.signals, contributions: [{ rule: 'combined', share: 0.5 }] };
    assert.equal(why({ ...plain, signals: combined }), 'Fits several parts of the question.');
  });

  it('names files with as many folders as tell them apart', () => {
    const names = shortNames(['src/a/index.ts', 'src/b/index.ts', 'lib/a/index.ts', 'README.md', 'README.md']);
    assert.deepEqual([...names.values()], ['src/a/index.ts', 'b/index.ts', 'lib/a/index.ts', 'README.md']);
  });

  it('can be told for every rule that a score consists of', () => {
    const source = ['additive', 'multiplicative']
      .map(name => readFileSync(`../../rust_core/core/src/query/ranking/${name}.rs`, 'utf8'))
      .join('');
    const rules = [...source.matchAll(/\("(\w+)", \w+\)/g)].map(([, rule = '']) => rule);
    assert(rules.length >= 13, rules.join());
    for (const rule of [...rules, 'combined']) {
      const [[, words] = []] = sum({ ...HIT, signals: { ...HIT.signals, contributions: [{ rule, share: 0.1 }] } });
      assert.notEqual(words, rule, `${rule} has words`);
    }
  });
});

describe('the receipt view', () => {
  it('says what was sent, why, what it cost and what stayed out', () => {
    const nodes = receiptNodes(receipt('p'), [], []);
    const hit = nodes.find(({ label }) => label === 'auth.py:1-4');
    assert.equal(hit?.description, '0.83 · Defines login and holds “login”, “check”.');
    const [sentence, score] = hit.children ?? [];
    assert.equal(sentence?.label, 'Defines login and holds “login”, “check”.');
    assert.equal(`${score?.label ?? ''}: ${score?.description ?? ''}`, 'How the score adds up: 0.83');
    assert.deepEqual(
      score?.children?.map(({ label, description }) => `${label} ${description ?? ''}`),
      ['+0.90 close in meaning', '−0.07 tests, documents, data and the like step back'],
    );
    assert.equal(nodes.find(({ label }) => label === 'Left out')?.children?.[0]?.description, 'budget');
  });

  it('counts tokens, whatever the budget is in', () => {
    assert.equal(spent(PACK), '1,200 tokens, limit 4,000 characters');
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
      nodes.find(({ label }) => label === 'Excluded by you')?.children?.map(({ label }) => label),
      ['src/auth.py:1-4', 'b.py'],
    );
    assert(!nodes.some(({ label }) => label === 'Left out'));
  });

  it('tells of an empty answer and of a fault', () => {
    const empty = {
      question: { text: 'q', from: 'agent' as const },
      details: {},
      outcome: 'given' as const,
      pack: { ...PACK, hits: [], error: 'the disk is full', pending: 3 },
      at: new Date(),
    };
    const labels = receiptNodes(empty, [], [HIT]).map(({ label }) => label);
    for (const label of ['the disk is full', 'No place of the project goes with this question', 'Excluded by you'])
      assert(labels.includes(label), label);
    const incomplete = 'The index was not complete';
    assert(!labels.includes(incomplete), 'the fault says how much of it there is, at one moment');
    const waiting = { ...empty, pack: { ...PACK, pending: 3 } };
    assert(receiptNodes(waiting, [], []).some(({ label }) => label === incomplete));
    assert.equal(answerNodes([empty])[0]?.command?.id, 'carrel.receipt.show');
  });
});

describe('places as attachments', () => {
  const places = (text: string): { uri: string; startLine: number; endLine: number }[] =>
    text.split(' ').map(one => {
      const [uri = '', startLine, endLine] = one.split(/[:-]/);
      return { uri, startLine: Number(startLine), endLine: Number(endLine) };
    });
  for (const [given, expected] of [
    ['a:1-4 b:1-4', 'a:1-4 b:1-4'],
    ['a:1-4 a:5-8', 'a:1-8'],
    ['a:1-4 a:6-8', 'a:1-4 a:6-8'],
    ['a:5-8 b:1-2 a:1-6', 'b:1-2 a:1-8'],
    ['a:1-3 a:7-9 a:3-7', 'a:1-9'],
  ] as const) {
    it(`${given} are ${expected}`, () =>
      assert.deepEqual(
        merged(places(given))
          .map(({ uri, startLine, endLine }) => `${uri}:${startLine}-${endLine}`)
          .join(' '),
        expected,
      ));
  }
});

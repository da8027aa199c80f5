import assert from 'node:assert/strict';
import { CitationStream, unsupported } from '../../src/chat/citations';

const PLACES = [
  { path: 'src/auth.py', uri: 'file:///shop/src/auth.py' },
  { path: 'auth.py', uri: 'file:///shop/auth.py' },
];

/** The answer with links written as [file lines], however it is torn into fragments. */
function check(answer: string, expected: string, places = PLACES): void {
  for (const size of [1, 2, 5, answer.length]) {
    const stream = new CitationStream(places);
    const fragments = answer.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
    const pieces = [...fragments.flatMap(fragment => stream.push(fragment)), ...stream.end()];
    const text = pieces
      .map(piece => ('text' in piece ? piece.text : `[${piece.uri.slice(13)} ${piece.startLine}-${piece.endLine}]`))
      .join('');
    assert.equal(text, expected, `in fragments of ${size}`);
  }
}

describe('places in an answer', () => {
  it('become links, with or without backticks and a second line', () => {
    check('See `src/auth.py:1-4`, then src/auth.py:7.', 'See [src/auth.py 1-4], then [src/auth.py 7-7].');
    check('(auth.py:L3-L5)', '([auth.py 3-5])');
  });

  it('stay words when the answer was not given them', () => {
    check('lib/auth.py:3 and src/other.py:4 and src/auth.py alone', 'lib/auth.py:3 and src/other.py:4 and src/auth.py alone');
    check('src/auth.py:3', 'src/auth.py:3', []);
  });

  it('may have white space and special characters in their names', () => {
    check('in my docs/a (1).md:2-3 it says\nso', 'in [docs 2-3] it says\nso', [
      { path: 'my docs/a (1).md', uri: 'file:///shop/docs' },
    ]);
  });
});

describe('places that do not hold', () => {
  it('are named behind the answer with the reason, and are no markup', () => {
    const held = { path: 'a.py', startLine: 1, endLine: 2, ok: true };
    assert.equal(unsupported([held]), undefined);
    const bad = { path: 'b`c.py', startLine: 3, endLine: 3, ok: false, reason: '[x](y) does not stand there' };
    assert.deepEqual(unsupported([held, bad])?.split('\n').slice(2), [
      '> **Unverified.** Look at these places before you rely on the answer:',
      '> - `b c.py:3`:  x (y) does not stand there',
      '',
    ]);
  });
});

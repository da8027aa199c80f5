import assert from 'node:assert/strict';
import { ignoreLines } from '../../src/editor_excludes';

function check(glob: string, ...lines: string[]): void {
  assert.deepEqual(ignoreLines({ [glob]: true }), lines, glob);
}

describe('what the editor excludes, as lines of a .gitignore', () => {
  it('leaves out names anywhere, and all below a folder', () => {
    check('**/.git', '**/.git');
    check('**/node_modules/**', '**/node_modules/');
    check('**/logs/', '**/logs/');
    check('**/*.code-search', '**/*.code-search');
    check('**/gen/**/*.py', '**/gen/**/*.py');
  });

  it('binds to the root what the editor binds there', () => {
    check('build', '/build');
    check('*.log', '/*.log');
    check('docs/old', '/docs/old');
    check('docs/**', '/docs/');
    check('!odd', '/!odd');
    check('#odd', '/#odd');
  });

  it('resolves braces', () => {
    check('**/{dist,out}', '**/dist', '**/out');
    check('{**/*.map,tmp/**}', '**/*.map', '/tmp/');
    check('**/*.{js,{m,c}js}', '**/*.js', '**/*.mjs', '**/*.cjs');
    check('**/one{}', '**/one');
  });

  it('takes stars and sets as the editor does', () => {
    check('**', '**/*');
    check('**/**', '**/*');
    check('**/a**b', '**/a*b');
    check('**/[!a-c]?.txt', '**/[!a-c]?.txt');
  });

  it('leaves out what the editor never matches, and what can not be said', () => {
    for (const glob of ['', ' ', '/', '/abs', './here', '../up', 'a//b', 'a\\b', 'a\nb', '**/[a', '**/{a,b', '**/a}'])
      check(glob);
    check('{a,b}'.repeat(8));
  });

  it('counts what is on, without a condition', () => {
    const excludes = { '**/a': true, '**/b': false, '**/c': { when: '$(basename).ts' }, '**/d': 'true', ' **/e ': true };
    assert.deepEqual(ignoreLines(excludes), ['**/a', '**/e']);
    for (const odd of [undefined, null, 'text', 3, []]) assert.deepEqual(ignoreLines(odd), []);
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

describe('the script that bundles the server', () => {
  it('names an archive that is missing, and what helps, without a stack', () => {
    const words = ['scripts/bundle_server.mjs', '--source', '--offline', '--archive', '/no/such/python.tar.gz'];
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /^\/no\/such\/python\.tar\.gz isn't there\.\nOFFLINE=FILE takes an archive such as /);
    assert.doesNotMatch(stderr, /\n {4}at /);
  });
});

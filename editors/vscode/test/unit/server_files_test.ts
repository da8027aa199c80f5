import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { create } from 'tar';
import { ServerFiles } from '../../src/server/server_files';

describe("the packaged server's files", () => {
  const work = mkdtempSync(path.join(tmpdir(), 'carrel-server-files-'));
  const bundled = path.join(work, 'bundled');
  const archive = path.join(bundled, 'libs.tar.br');
  let storage: string;

  before(async () => {
    mkdirSync(path.join(work, 'libs/common/carrel'), { recursive: true });
    mkdirSync(bundled);
    writeFileSync(path.join(work, 'libs/common/carrel/__main__.py'), 'print("hello")\n');
    await create({ brotli: true, file: archive, cwd: path.join(work, 'libs') }, ['common']);
  });
  beforeEach(() => {
    storage = mkdtempSync(path.join(work, 'storage-'));
    const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
    writeFileSync(path.join(bundled, 'libs.json'), JSON.stringify({ sha256 }));
  });
  after(() => rmSync(work, { recursive: true, force: true }));

  const files = (): ServerFiles => new ServerFiles(bundled, storage);

  it('are unpacked once, and found by the next window', async () => {
    const folder = await files().folder();
    assert.equal(readFileSync(path.join(folder, 'common/carrel/__main__.py'), 'utf8'), 'print("hello")\n');
    writeFileSync(path.join(folder, 'mark'), '');
    assert.equal(await files().folder(), folder);
    assert.ok(existsSync(path.join(folder, 'mark')));
    assert.deepEqual(readdirSync(storage), [path.basename(folder)]);
  });

  it('are unpacked by two windows at once, and by one that asks twice', async () => {
    const first = files();
    const folders = await Promise.all([first.folder(), first.folder(), files().folder()]);
    assert.equal(new Set(folders).size, 1);
    assert.equal(readdirSync(storage).length, 1);
  });

  it('are refused, and nothing is left, where the archive is damaged', async () => {
    writeFileSync(path.join(bundled, 'libs.json'), JSON.stringify({ sha256: '0'.repeat(64) }));
    await assert.rejects(files().folder(), /libs\.tar\.br is damaged: install the extension again$/);
    assert.deepEqual(readdirSync(storage), []);
  });

  it('take the place of half a folder; those of earlier versions go when no window used them for long', async () => {
    const folder = await files().folder();
    rmSync(path.join(folder, 'common/carrel'), { recursive: true });
    for (const name of ['server-old', 'server-recent', 'cpython-old']) mkdirSync(path.join(storage, name));
    for (const name of ['server-old', 'cpython-old']) utimesSync(path.join(storage, name), 1e9, 1e9);
    assert.equal(await files().folder(), folder);
    assert.ok(existsSync(path.join(folder, 'common/carrel/__main__.py')));
    assert.deepEqual(readdirSync(storage).sort(), ['cpython-old', 'server-recent', path.basename(folder)].sort());
  });

  it('lie in the package itself in a build without an archive', async () => {
    const folder = path.join(work, 'elsewhere');
    assert.equal(await new ServerFiles(folder, storage).folder(), path.join(folder, 'libs'));
  });
});

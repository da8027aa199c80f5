import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { Traces } from '../../src/server/traces';

describe('what is left after the extension was uninstalled', () => {
  const work = mkdtempSync(path.join(tmpdir(), 'carrel-uninstall-'));
  let home: string;
  let extension: string;
  let storage: string;

  beforeEach(() => {
    home = mkdtempSync(path.join(work, 'home-'));
    extension = path.join(home, 'extensions/carrel.carrel-0.1.0');
    storage = path.join(home, 'globalStorage/carrel.carrel');
    mkdirSync(path.join(extension, 'dist'), { recursive: true });
    copyFileSync('dist/uninstall.js', path.join(extension, 'dist/uninstall.js'));
    for (const name of ['server-0123456789ab/common', 'cpython-3.12.1-0123/bin', 'mcp-packages-01-cp312', 'unpacking-x'])
      mkdirSync(path.join(storage, name), { recursive: true });
  });
  after(() => rmSync(work, { recursive: true, force: true }));

  const uninstall = (): unknown => execFileSync(process.execPath, [path.join(extension, 'dist/uninstall.js')]);
  const index = (name: string, ...files: string[]): string => {
    const folder = path.join(home, 'cache/carrel/indexes', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, '..', 'CACHEDIR.TAG'), '');
    for (const file of files) writeFileSync(path.join(folder, file), '');
    return folder;
  };

  it('is nothing of what it made', () => {
    const traces = new Traces(extension, storage);
    const made = index('shop-1', 'index.db', 'workspace.json', 'writer.lock');
    const others = index('other-2', 'index.db', 'workspace.json');
    traces.noteIndex(made);
    traces.noteIndex(made);
    new Traces(extension, path.join(home, 'gone'));
    uninstall();
    assert.deepEqual(readdirSync(path.join(home, 'globalStorage')), []);
    assert.ok(!existsSync(made));
    assert.ok(existsSync(others));
    uninstall();
  });

  it('is all that a person or another program put there', () => {
    const traces = new Traces(extension, storage);
    const project = path.join(home, 'project');
    mkdirSync(path.join(project, '.carrel'), { recursive: true });
    writeFileSync(path.join(project, '.carrel/index.db'), '');
    const strange = index('notes', 'mine.txt');
    for (const folder of [path.join(project, '.carrel'), project, strange, home, '/', '', '..']) traces.noteIndex(folder);
    writeFileSync(path.join(storage, 'notes.txt'), 'mine');
    symlinkSync(project, path.join(storage, 'server-link'), 'junction');
    uninstall();
    assert.deepEqual(readdirSync(storage), ['notes.txt']);
    assert.ok(existsSync(path.join(project, '.carrel/index.db')));
    assert.ok(existsSync(path.join(strange, 'mine.txt')));
  });

  it('is everything where nothing was noted', () => {
    writeFileSync(path.join(extension, 'storages.json'), '{"a": [1]}');
    uninstall();
    assert.equal(readdirSync(storage).length, 4);
  });
});

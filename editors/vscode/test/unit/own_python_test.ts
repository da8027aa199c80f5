import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { create } from 'tar';
import { OwnPython, type Archive } from '../../src/server/own_python';

describe("a Python of Carrel's own", () => {
  const work = mkdtempSync(path.join(tmpdir(), 'carrel-own-python-'));
  const asked: string[] = [];
  let server: Server;
  let address: string;
  let archive: Archive;
  let content: Buffer;
  let storage: string;
  let own: OwnPython;

  before(async () => {
    mkdirSync(path.join(work, 'python/bin'), { recursive: true });
    writeFileSync(path.join(work, 'python/bin/python3'), '#!/bin/sh\necho Python 3.13.0\n');
    chmodSync(path.join(work, 'python/bin/python3'), 0o755);
    await create({ gzip: true, file: path.join(work, 'good.tar.gz'), cwd: work }, ['python']);
    content = readFileSync(path.join(work, 'good.tar.gz'));
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/slow')
        response.write(content.subarray(0, 10)); // and never ends
      else if (request.url === '/broken') {
        response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, 10), () => response.destroy());
      } else if (request.url === '/endless') response.write(Buffer.alloc(5_000_000));
      else response.writeHead(request.url?.includes('missing') ? 404 : 200).end(content);
    });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    archive = {
      version: '3.13.0',
      from: address,
      name: '1/good.tar.gz',
      sha256: createHash('sha256').update(content).digest('hex'),
    };
  });
  beforeEach(() => {
    storage = mkdtempSync(path.join(work, 'storage-'));
    mkdirSync(path.join(storage, 'bundled'));
    writeFileSync(path.join(storage, 'bundled/python.json'), JSON.stringify(archive));
    own = new OwnPython(path.join(storage, 'bundled'), path.join(storage, 'kept'), false);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(work, { recursive: true, force: true });
  });

  const get = (more: Partial<Archive>, mirror = '', signal = new AbortController().signal): Promise<string> =>
    own.get({ ...archive, ...more }, mirror, signal, () => undefined);
  const kept = (): string[] => readdirSync(path.join(storage, 'kept'));

  it('is got, runs, and is found again', async () => {
    assert.deepEqual(own.present, []);
    const python = await get({});
    assert.equal(execFileSync(python, { encoding: 'utf8' }), 'Python 3.13.0\n');
    assert.deepEqual(own.present, [python]);
    own.remove(archive);
    assert.deepEqual(own.present, []);
  });

  it('comes from a mirror where one is set', async () => {
    asked.length = 0;
    await get({ from: 'http://127.0.0.1:9' }, `${address}/mirror/`);
    assert.deepEqual(asked, ['/mirror/1/good.tar.gz']);
  });

  it('is refused, and leaves nothing, when a byte differs from what was pinned', async () => {
    await assert.rejects(get({ sha256: '0'.repeat(64) }), /SHA-256 differs/);
    assert.deepEqual(kept(), []);
  });

  it('says what is wrong with the network', async () => {
    await assert.rejects(get({ name: 'missing' }), /^Error: 127\.0\.0\.1:\d+ answered 404 for http.*missing$/);
    await assert.rejects(get({ from: 'http://127.0.0.1:9' }), /^Error: 127\.0\.0\.1:9 can't be reached \(.+\)$/);
    assert.deepEqual(kept(), []);
  });

  it('leaves nothing of a download that was cancelled', async () => {
    const stop = new AbortController();
    const getting = own.get({ ...archive, name: 'slow' }, '', stop.signal, () => stop.abort());
    await assert.rejects(getting);
    assert.deepEqual(kept(), []);
  });

  it('is got by two windows at once, and neither spoils what the other has', async () => {
    const other = new OwnPython(path.join(storage, 'bundled'), path.join(storage, 'kept'), false);
    const nobody = new AbortController().signal;
    const got = await Promise.all([get({}), other.get(archive, '', nobody, () => undefined)]);
    assert.equal(got[0], got[1]);
    assert.equal(execFileSync(got[0], { encoding: 'utf8' }), 'Python 3.13.0\n');
    assert.equal(kept().length, 1);
    asked.length = 0;
    assert.equal(await get({}), got[0]);
    assert.deepEqual(asked, []);
  });

  it('keeps what another window put in place while this one was downloading', async () => {
    const mark = (): string => path.join(own.present[0] ?? '', '..', 'used');
    const slower = own.get(archive, '', new AbortController().signal, () => {
      if (own.present.length > 0) return;
      const there = path.join(storage, 'kept', `cpython-3.13.0-${archive.sha256.slice(0, 12)}`, 'bin');
      mkdirSync(there, { recursive: true });
      writeFileSync(path.join(there, 'python3'), '');
      writeFileSync(path.join(there, 'used'), '');
    });
    assert.equal(await slower, own.present[0]);
    assert.ok(existsSync(mark()));
    assert.equal(kept().length, 1);
  });

  it('takes the place of a folder without an interpreter, and clears what a killed editor left', async () => {
    const folder = path.join(storage, 'kept', `cpython-3.13.0-${archive.sha256.slice(0, 12)}`);
    const abandoned = path.join(storage, 'kept', 'python-before');
    const working = path.join(storage, 'kept', 'python-now');
    for (const made of [folder, abandoned, working]) mkdirSync(made, { recursive: true });
    writeFileSync(path.join(folder, 'half'), '');
    utimesSync(abandoned, 1e9, 1e9);
    assert.equal(await get({}), path.join(folder, 'bin', 'python3'));
    assert.deepEqual(kept().sort(), [path.basename(folder), 'python-now']);
  });

  it('is given up when nothing comes any more, when the download breaks, and when it is too long; nothing is left', async () => {
    const nobody = new AbortController().signal;
    const limited = new OwnPython(path.join(storage, 'bundled'), path.join(storage, 'kept'), false, { bytes: 1e6, idleMs: 50 });
    const failing = (name: string): Promise<string> => limited.get({ ...archive, name }, '', nobody, () => undefined);
    await assert.rejects(failing('slow'), /sent nothing for 1 s\. Try again, or set carrel\.server\.pythonMirror$/);
    await assert.rejects(get({ name: 'broken' }), /^Error: the download from 127\.0\.0\.1:\d+ broke off \(.+\)$/);
    await assert.rejects(failing('endless'), /sends more than 1 MB, which is not the expected file$/);
    assert.deepEqual(kept(), []);
  });
});

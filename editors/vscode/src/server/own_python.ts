/** A Python of Carrel's own, for machines without one that fits: packaged with the extension, or got when the person wants it. No editor is needed. */

import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar';

/** What `bundled/python.json` says: which archive fits this build of the extension. The hash stands in the package, not beside the archive. */
export interface Archive {
  readonly version: string;
  /** Where it lies, unless a mirror is set. */
  readonly from: string;
  readonly name: string;
  readonly sha256: string;
}

/** Bytes so far, and of how many, where that is known. */
export type Progress = (received: number, total: number | undefined) => void;

export class OwnPython {
  /** `bundled` is the package's folder, `storage` a folder of the extension's own on this machine. */
  constructor(
    private readonly bundled: string,
    private readonly storage: string,
    private readonly windows = process.platform === 'win32',
  ) {}

  /** Interpreters that are there: the packaged one, and one that was got before. */
  get present(): readonly string[] {
    const { archive } = this;
    const folders = [path.join(this.bundled, 'python'), ...(archive ? [this.folder(archive)] : [])];
    return folders.map(folder => this.program(folder)).filter(existsSync);
  }

  /** What can be got; undefined where this build names nothing. */
  get archive(): Archive | undefined {
    const file = path.join(this.bundled, 'python.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Archive) : undefined;
  }

  /** Download, compare with the hash, unpack; gives the interpreter. Until all of it is good, nothing is in place. */
  async get(archive: Archive, mirror: string, signal: AbortSignal, progress: Progress): Promise<string> {
    mkdirSync(this.storage, { recursive: true });
    const work = mkdtempSync(path.join(this.storage, 'python-'));
    try {
      const file = path.join(work, 'archive.tar.gz');
      await download(`${(mirror || archive.from).replace(/\/+$/, '')}/${archive.name}`, archive.sha256, file, signal, progress);
      const unpacked = path.join(work, 'unpacked');
      mkdirSync(unpacked);
      await extract({ file, cwd: unpacked, strip: 1, strict: true });
      if (!existsSync(this.program(unpacked))) throw new Error('the archive holds no Python');
      signal.throwIfAborted();
      const folder = this.folder(archive);
      rmSync(folder, { recursive: true, force: true });
      renameSync(unpacked, folder);
      return this.program(folder);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }

  /** Throw the one away that was got: it can't be run here. */
  remove(archive: Archive): void {
    rmSync(this.folder(archive), { recursive: true, force: true });
  }

  private folder({ version, sha256 }: Archive): string {
    return path.join(this.storage, `cpython-${version}-${sha256.slice(0, 12)}`);
  }

  private program(folder: string): string {
    return this.windows ? path.join(folder, 'python.exe') : path.join(folder, 'bin', 'python3');
  }
}

async function download(url: string, sha256: string, file: string, signal: AbortSignal, progress: Progress): Promise<void> {
  const response = await fetch(url, { signal }).catch((error: unknown) => {
    throw signal.aborted ? error : new Error(`${new URL(url).host} can't be reached (${reason(error)})`);
  });
  if (!response.ok || !response.body) throw new Error(`${new URL(url).host} answered ${response.status} for ${url}`);
  const total = Number(response.headers.get('content-length')) || undefined;
  const hash = createHash('sha256');
  let received = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      received += chunk.length;
      progress(received, total);
      done(null, chunk);
    },
  });
  await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(file), {
    signal,
  });
  if (hash.digest('hex') !== sha256) throw new Error('what was downloaded is not the expected file (its SHA-256 differs)');
}

/** `fetch` hides what happened one level down. */
function reason(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message || cause.name : message;
}

/** A Python of Carrel's own, for machines without one that fits: packaged with the extension, or got when the person wants it. No editor is needed. */

import { createHash } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { l10n } from 'vscode';
import { extract } from 'tar';
import { inWorkFolder, putInPlace } from './put_in_place';

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

/** What a download may take. A pinned archive has 30 to 60 MB. */
export interface Limits {
  readonly bytes: number;
  /** How long the other side may send nothing. */
  readonly idleMs: number;
}

const LIMITS: Limits = { bytes: 300_000_000, idleMs: 60_000 };
const WORK = 'python-';

export class OwnPython {
  /** `bundled` is the package's folder, `storage` a folder of the extension's own on this machine. */
  constructor(
    private readonly bundled: string,
    private readonly storage: string,
    private readonly windows = process.platform === 'win32',
    private readonly limits = LIMITS,
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

  /**
   * Download, compare with the hash, unpack; gives the interpreter. Until all of it is good, nothing is in place. Where another
   * window had one in place first, that one is given.
   */
  async get(archive: Archive, mirror: string, signal: AbortSignal, progress: Progress): Promise<string> {
    const folder = this.folder(archive);
    if (existsSync(this.program(folder))) return this.program(folder);
    return inWorkFolder(this.storage, WORK, async work => {
      const file = path.join(work, 'archive.tar.gz');
      const url = `${(mirror || archive.from).replace(/\/+$/, '')}/${archive.name}`;
      await download(url, archive.sha256, file, signal, progress, this.limits);
      const unpacked = path.join(work, 'unpacked');
      mkdirSync(unpacked);
      await extract({ file, cwd: unpacked, strip: 1, strict: true });
      if (!existsSync(this.program(unpacked))) throw new Error(l10n.t('the archive holds no Python'));
      signal.throwIfAborted();
      putInPlace(unpacked, folder, path.join(work, 'old'), () => existsSync(this.program(folder)));
      return this.program(folder);
    });
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

async function download(
  url: string,
  sha256: string,
  file: string,
  signal: AbortSignal,
  progress: Progress,
  limits: Limits,
): Promise<void> {
  const { host } = new URL(url);
  const idle = new AbortController();
  const stop = AbortSignal.any([signal, idle.signal]);
  const quiet = setTimeout(() => idle.abort(), limits.idleMs);
  try {
    const response = await fetch(url, { signal: stop }).catch((error: unknown) => {
      throw stop.aborted ? error : new Error(l10n.t("{0} can't be reached ({1})", host, reason(error)));
    });
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new Error(l10n.t('{0} answered {1} for {2}', host, response.status, url));
    }
    const total = Number(response.headers.get('content-length')) || undefined;
    const hash = createHash('sha256');
    let received = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        quiet.refresh();
        hash.update(chunk);
        received += chunk.length;
        if (Math.max(received, total ?? 0) > limits.bytes) {
          done(
            new Error(l10n.t('{0} sends more than {1} MB, which is not the expected file', host, Math.round(limits.bytes / 1e6))),
          );
          return;
        }
        progress(received, total);
        done(null, chunk);
      },
    });
    await pipeline(Readable.fromWeb(response.body), counted, createWriteStream(file), { signal: stop }).catch(
      (error: unknown) => {
        // A connection that breaks is told as "terminated", with the cause one level down.
        throw stop.aborted || !(error instanceof TypeError)
          ? error
          : new Error(l10n.t('the download from {0} broke off ({1})', host, reason(error)));
      },
    );
    if (hash.digest('hex') !== sha256)
      throw new Error(l10n.t('what was downloaded is not the expected file (its SHA-256 differs)'));
  } catch (error) {
    if (!idle.signal.aborted || signal.aborted) throw error;
    throw new Error(
      l10n.t('{0} sent nothing for {1} s. Try again, or set carrel.server.pythonMirror', host, Math.ceil(limits.idleMs / 1000)),
      { cause: error },
    );
  } finally {
    clearTimeout(quiet);
  }
}

/** `fetch` hides what happened one level down. */
function reason(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message || cause.name : message;
}

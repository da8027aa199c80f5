/** The packaged server's files: one archive in the package, a third smaller than each by itself, unpacked once on this machine. No editor is needed. */

import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import * as path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { l10n } from 'vscode';
import { extract } from 'tar';
import { inWorkFolder, putInPlace } from './put_in_place';

const UNPACKED = 'server-';
const WORK = 'unpacking-';
/** A window that was opened before an update may still run the old files, and says so each time that it looks for its server. */
const UNUSED_AFTER_MS = 30 * 24 * 3_600_000;

export class ServerFiles {
  private unpacking: Promise<string> | undefined;

  /** `bundled` is the package's folder, `storage` a folder of the extension's own on this machine. */
  constructor(
    private readonly bundled: string,
    private readonly storage: string,
  ) {}

  /**
   * Give the folder that holds `common/` and one `cp3xx/` for each Python version. The first call after an installation unpacks it.
   * A build without an archive gives the place where it would lie unpacked in the package.
   */
  async folder(): Promise<string> {
    const { sha256 } = this;
    if (sha256 === undefined) return path.join(this.bundled, 'libs');
    const folder = path.join(this.storage, `${UNPACKED}${sha256.slice(0, 12)}`);
    if (!isWhole(folder)) {
      this.unpacking ??= this.unpack(folder, sha256).finally(() => (this.unpacking = undefined));
      await this.unpacking;
    }
    const now = new Date();
    utimesSync(folder, now, now);
    return folder;
  }

  private get sha256(): string | undefined {
    const file = path.join(this.bundled, 'libs.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { readonly sha256: string }).sha256 : undefined;
  }

  private unpack(folder: string, sha256: string): Promise<string> {
    return inWorkFolder(this.storage, WORK, async work => {
      const file = path.join(this.bundled, 'libs.tar.br');
      const hash = createHash('sha256');
      await pipeline(createReadStream(file), hash);
      if (hash.digest('hex') !== sha256) throw new Error(l10n.t('{0} is damaged: install the extension again', file));
      const unpacked = path.join(work, 'unpacked');
      mkdirSync(unpacked);
      await extract({ file, cwd: unpacked, brotli: true, strict: true });
      putInPlace(unpacked, folder, path.join(work, 'old'), () => isWhole(folder));
      this.removeUnused(folder);
      return folder;
    });
  }

  /** Remove what earlier versions of the extension unpacked. */
  private removeUnused(folder: string): void {
    for (const name of readdirSync(this.storage)) {
      const other = path.join(this.storage, name);
      const used = name.startsWith(UNPACKED) && other !== folder && statSync(other, { throwIfNoEntry: false })?.mtimeMs;
      if (used && Date.now() - used > UNUSED_AFTER_MS) rmSync(other, { recursive: true, force: true });
    }
  }
}

function isWhole(folder: string): boolean {
  return existsSync(path.join(folder, 'common', 'carrel'));
}

/** Folders that are made beside their place and moved there whole, so that no window ever sees half of one. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import * as path from 'node:path';

/** A folder that is older was left by an editor that was killed. */
const ABANDONED_AFTER_MS = 24 * 3_600_000;

/** Run `work` in a folder of its own under `storage`, which goes when it ends; clear what killed editors left there. */
export async function inWorkFolder<T>(storage: string, prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(storage, { recursive: true });
  for (const name of readdirSync(storage)) {
    const folder = path.join(storage, name);
    const made = name.startsWith(prefix) && statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
    if (made && Date.now() - made > ABANDONED_AFTER_MS) rmSync(folder, { recursive: true, force: true });
  }
  const folder = mkdtempSync(path.join(storage, prefix));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Move a finished folder to its place. A rename moves all or nothing, and none goes over a folder with something in it: of two windows
 * the first wins. A folder there that isn't `whole` is moved to `old`.
 */
export function putInPlace(made: string, place: string, old: string, whole: () => boolean): void {
  if (existsSync(place) && !whole()) renameSync(place, old);
  try {
    renameSync(made, place);
  } catch (error) {
    if (!whole()) throw error;
  }
}

/** `vscode:uninstall`: run by Node.js alone after the extension was uninstalled. It removes what the extension made, and nothing else. */

import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { INDEXES, MADE, read, STORAGES } from './server/traces';

for (const storage of read(path.join(__dirname, '..', STORAGES))) {
  read(path.join(storage, INDEXES)).filter(isIndex).forEach(remove);
  for (const name of existsSync(storage) ? readdirSync(storage) : [])
    if (MADE.some(beginning => name.startsWith(beginning))) remove(path.join(storage, name));
  try {
    rmdirSync(storage);
  } catch {
    // Somebody else's file is in it.
  }
}

/** Whether the folder is an index in a cache of Carrel's; an index inside a project stays with the project. */
function isIndex(folder: string): boolean {
  const marks = [path.join(folder, 'index.db'), path.join(folder, 'workspace.json'), path.join(folder, '..', 'CACHEDIR.TAG')];
  return path.isAbsolute(folder) && marks.every(existsSync);
}

/** What is in use on Windows stays. */
function remove(place: string): void {
  try {
    rmSync(place, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    console.error(`Carrel: ${String(error)}`);
  }
}

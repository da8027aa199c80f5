/** What the extension made on this machine, noted for the script that runs after it was uninstalled. No editor is needed. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';

/** In the extension's folder: its storages. An editor may have several, one for each folder of its data. */
export const STORAGES = 'storages.json';
/** In a storage: the indexes that its servers wrote. */
export const INDEXES = 'indexes.json';
/** What lies in a storage, by the beginnings of its names. */
export const MADE = ['server-', 'unpacking-', 'cpython-', 'python-', 'mcp-', INDEXES];

export class Traces {
  private readonly noted = new Set<string>();

  constructor(
    extension: string,
    private readonly storage: string,
  ) {
    add(path.join(extension, STORAGES), storage);
  }

  noteIndex(folder: string): void {
    if (this.noted.has(folder)) return;
    this.noted.add(folder);
    mkdirSync(this.storage, { recursive: true });
    add(path.join(this.storage, INDEXES), folder);
  }
}

/** The lines of a file that `add` wrote. */
export function read(file: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(value) ? value.filter(item => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

function add(file: string, line: string): void {
  const known = read(file);
  if (known.includes(line)) return;
  try {
    writeFileSync(file, JSON.stringify([...known, line]));
  } catch {
    // The extension was installed where its person can't write: then it is removed by somebody else, who sees to the rest.
  }
}

/** The extension under test, and patience. */

import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Carrel } from '../../src/extension';

export async function carrel(): Promise<Carrel> {
  const extension = vscode.extensions.getExtension<Carrel>('carrel.carrel');
  assert(extension, 'the packaged extension is installed');
  return extension.activate();
}

export function folder(): vscode.WorkspaceFolder {
  const first = vscode.workspace.workspaceFolders?.[0];
  assert(first);
  return first;
}

export function fileIn(path: string): vscode.Uri {
  return vscode.Uri.joinPath(folder().uri, path);
}

/** The first value that is neither undefined nor false, looked for again and again. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  seconds = 20,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) assert.fail(`waited ${seconds} s for: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

/** The real machine, as `locate` sees it. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Machine } from './locate';

const PATIENCE_MS = 10_000;

/** Programs run in `folder`, never in the workspace: what lies there must not be picked up by a program's own search. */
export function realMachine(folder: string): Machine {
  return {
    windows: process.platform === 'win32',
    exists: existsSync,
    output: (command, args) =>
      new Promise(resolve => {
        execFile(command, [...args], { cwd: folder, timeout: PATIENCE_MS, windowsHide: true }, (error, stdout) => {
          resolve(error ? undefined : stdout);
        });
      }),
  };
}

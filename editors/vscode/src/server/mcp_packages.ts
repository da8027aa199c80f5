/** What `carrel mcp` needs beside the server: in the package, or got by pip when the person wants it. No editor is needed. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { l10n } from 'vscode';
import type { Launch } from './locate';

const PATIENCE_MS = 300_000;

export class McpPackages {
  /** `bundled` is the package's folder, `storage` a folder of the extension's own on this machine. */
  constructor(
    private readonly bundled: string,
    private readonly storage: string,
  ) {}

  /** The launch with the packages; undefined where they must be got first. A program that a person named brings its own. */
  complete(launch: Launch): Launch | undefined {
    const places = launch.env.PYTHONPATH?.split(path.delimiter) ?? [];
    if (launch.python === undefined || places.some(place => existsSync(path.join(place, 'mcp')))) return launch;
    const folder = this.folder(launch.python);
    if (!existsSync(folder)) return undefined;
    const PYTHONPATH = [launch.env.PYTHONPATH, folder].filter(Boolean).join(path.delimiter);
    return { ...launch, env: { ...launch.env, PYTHONPATH } };
  }

  /** Have pip get them, each version and hash as the package says; throws an error that is fit for people. */
  async get({ command, python = '' }: Launch, signal: AbortSignal): Promise<void> {
    mkdirSync(this.storage, { recursive: true });
    const work = mkdtempSync(path.join(this.storage, 'mcp-'));
    try {
      const into = path.join(work, 'packages');
      const rules = ['--require-hashes', '--no-deps', '--only-binary=:all:', '--no-compile', '--disable-pip-version-check'];
      const args = ['-m', 'pip', 'install', '--quiet', ...rules, '--target', into, '-r', this.requirements];
      await run(command, args, this.storage, signal);
      const folder = this.folder(python);
      rmSync(folder, { recursive: true, force: true });
      renameSync(into, folder);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }

  private get requirements(): string {
    return path.join(this.bundled, 'mcp.txt');
  }

  /** Of this version of the packages, for this version of Python. */
  private folder(python: string): string {
    const hash = createHash('sha256').update(readFileSync(this.requirements)).digest('hex').slice(0, 12);
    return path.join(this.storage, `mcp-packages-${hash}-cp${python.replace('.', '')}`);
  }
}

function run(command: string, args: readonly string[], cwd: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { cwd, signal, timeout: PATIENCE_MS, windowsHide: true };
    execFile(command, [...args], options, (error, _, stderr) => {
      if (!error) resolve();
      else if (/No module named pip/.test(stderr))
        reject(new Error(l10n.t('{0} has no pip. Install it, or run “Carrel: Get Python”, whose Python has one', command)));
      else reject(signal.aborted ? error : new Error(stderr.trim().split('\n').at(-1) || error.message));
    });
  });
}

/** The editor's entry to the tests: runs what lies beside this file. */

import { appendFileSync, readdirSync } from 'node:fs';
import * as path from 'node:path';
import { format } from 'node:util';
import Mocha from 'mocha';
import * as vscode from 'vscode';
import type { Carrel } from '../../src/extension';

const { TEST_REPORT } = process.env;
// The console of an extension host is full of the editor's own lines.
if (TEST_REPORT) Mocha.reporters.Base.consoleLog = (...line: unknown[]) => appendFileSync(TEST_REPORT, format(...line) + '\n');

export async function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'bdd', timeout: 60_000, color: false, bail: false });
  for (const name of readdirSync(__dirname).sort()) {
    if (name.endsWith('_test.js')) mocha.addFile(path.join(__dirname, name));
  }
  const failures = await new Promise<number>(resolve => {
    const runner = mocha.run(resolve);
    runner.once('end', () => {
      const carrel = vscode.extensions.getExtension<Carrel>('carrel.carrel')?.exports;
      Mocha.reporters.Base.consoleLog(`activation took ${carrel?.activationMs.toFixed(1) ?? '?'} ms`);
      Mocha.reporters.Base.consoleLog(`${runner.stats?.passes ?? 0} passed, ${runner.stats?.failures ?? 0} failed`);
    });
  });
  if (failures) throw new Error(`${failures} failed`);
}

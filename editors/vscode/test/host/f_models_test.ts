import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { Connection } from '../../src/server/connection';
import { carrel, folder } from './carrel';

const KEY = 'sk-planted-0123456789';

/** A log that keeps what it is told, in whichever way. */
function recorder(): { log: vscode.LogOutputChannel; text: () => string } {
  const lines: string[] = [];
  const log = new Proxy({} as vscode.LogOutputChannel, {
    get:
      () =>
      (...values: unknown[]) =>
        void lines.push(values.map(String).join(' ')),
  });
  return { log, text: () => lines.join('\n') };
}

describe('a key', () => {
  const trace = (value?: string): Thenable<void> =>
    vscode.workspace.getConfiguration('carrel').update('trace.server', value, vscode.ConfigurationTarget.Global);

  before(async () => {
    await (await carrel()).server.stop(); // two servers would offer the same commands
    await trace('verbose');
  });
  after(async () => {
    await trace(undefined);
    await (await carrel()).server.start();
  });

  it('reaches the server, and never the log, however much is logged', async () => {
    const found = await (await carrel()).find();
    assert(found.launch);
    const { log, text } = recorder();
    const listener = {
      status: () => undefined,
      progress: () => undefined,
      confirm: () => Promise.resolve({ allowed: false }),
      settings: () => ({}),
    };
    const connection = await Connection.open(found.launch, folder().uri.fsPath, log, listener);
    try {
      assert.deepEqual(await connection.giveKey('openai', KEY), { kept: true });
      assert.deepEqual(await connection.giveKey('openai'), { kept: false });
    } finally {
      await connection.close();
    }
    assert.match(text(), /Sending request 'carrel\/key[^]*"key": "withheld-/, 'parameters are traced');
    assert.match(text(), /"confirm": true/, 'the dialog is announced');
    assert(!text().includes(KEY));
  });
});

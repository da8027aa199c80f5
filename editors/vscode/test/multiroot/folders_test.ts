import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { carrel } from '../host/carrel';

const folders = (): readonly vscode.WorkspaceFolder[] => vscode.workspace.workspaceFolders ?? [];

describe('a window with two folders', () => {
  it('indexes each and shows each', async () => {
    const { memory } = await carrel();
    const results = await vscode.commands.executeCommand<unknown[]>('carrel.memory.index');
    assert.equal(results.length, 2);
    const nodes = memory.tree.getChildren().filter(({ context }) => context === 'folder');
    assert.deepEqual(
      nodes.map(({ label }) => label),
      ['shop', 'press'],
    );
    assert(nodes.every(({ children }) => children?.some(({ label }) => label === 'Files')));
    const ids = nodes.flatMap(({ children }) => children ?? []).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('indexes one alone from its node', async () => {
    const { memory } = await carrel();
    const node = memory.tree.getChildren().find(({ label }) => label === 'press');
    assert.equal((await vscode.commands.executeCommand<unknown[]>('carrel.memory.index', node)).length, 1);
  });

  it('answers from all folders, whatever is in front', async () => {
    const paths = async (): Promise<string[]> => {
      const pack = await vscode.commands.executeCommand<{ hits: { path: string; folder?: string }[] }>(
        'carrel.copyContext',
        'how is a page printed, and how is a login checked?',
      );
      assert(pack.hits.every(({ folder }) => folders().some(({ uri }) => uri.toString() === folder)));
      return pack.hits.map(({ path }) => path);
    };
    for (const inFront of [undefined, vscode.Uri.joinPath(folders()[1]?.uri ?? assert.fail(), 'printing.py')]) {
      if (inFront) await vscode.window.showTextDocument(inFront);
      const found = await paths();
      assert(found.includes('shop/src/auth.py'), `the first folder: ${found.join()}`);
      assert(found.includes('press/printing.py'), `the second folder: ${found.join()}`);
    }
    const { receipts } = await carrel();
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    assert(
      receipts.shown?.pack.hits.some(({ path }) => path === 'shop/src/auth.py'),
      'a repeated question is asked of the same folders',
    );
    assert.deepEqual(
      receipts.shown?.pack.dropped.filter(({ reason }) => /outside/.test(reason)),
      [],
      'what is open elsewhere is no news',
    );
  });
});

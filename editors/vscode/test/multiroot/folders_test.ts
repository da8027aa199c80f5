import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { foldersOf, link } from '../../src/chat/places';
import { wholeFile, type Place } from '../../src/receipts/receipts';
import { carrel, until } from '../host/carrel';
import { recordingModel } from '../host/chat';

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

  it('looks only where a person says: in the folder that they attach, or the one of a file', async () => {
    const { receipts } = await carrel();
    const question = '@carrel how is a page printed, and how is a login checked?';
    const [shop, press] = folders();
    assert(shop && press);
    for (const [attached, expected] of [
      [press.uri, 'printing.py'],
      [vscode.Uri.joinPath(press.uri, 'printing.py'), 'printing.py'],
      [vscode.Uri.joinPath(shop.uri, 'src'), 'src/auth.py'],
    ] as const) {
      await recordingModel();
      const before = receipts.shown;
      await vscode.commands.executeCommand('workbench.action.chat.newChat');
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: question, attachFiles: [attached] });
      const { pack } = await until(
        'the answer',
        () => receipts.shown !== before && receipts.shown?.outcome === 'sent' && receipts.shown,
        40,
      );
      const paths = pack.hits.map(({ path }) => path);
      assert(paths.includes(expected), `${attached.path}: ${paths.join()}`);
      assert(
        pack.hits.every(({ uri }) => uri.startsWith(vscode.workspace.getWorkspaceFolder(attached)?.uri.toString() ?? '?')),
        paths.join(),
      );
      if (expected === 'src/auth.py')
        assert(
          paths.every(path => path.startsWith('src/')),
          paths.join(),
        );
    }
  });

  it('tells files of one name apart by their folders', () => {
    const written: string[] = [];
    const stream = {
      markdown: (text: string) => void written.push(text),
      anchor: ({ uri, range }: vscode.Location) => void written.push(`[${uri.path}:${range.start.line + 1}]`),
    } as unknown as vscode.ChatResponseStream;
    const places = ['shop/src/edit.py', 'press/src/edit.py', 'press/once.py'].map(path => ({ uri: `file:///${path}`, path }));
    for (const { uri } of places) link({ uri, startLine: 3, endLine: 4 }, stream, foldersOf(places));
    const ofSeveral = ['press/lib/once.py', 'press/edit.py', 'shop/web/src/edit.py', 'shop/lib/edit.py'].map(path => ({
      uri: `file:///${path}`,
      path,
      folder: `file:///${path.slice(0, path.indexOf('/'))}`,
    }));
    assert.deepEqual(
      [...foldersOf(ofSeveral).values()],
      ['press/', 'press/', 'shop/…/src/', 'shop/lib/'],
      'a name alone, or a folder inside, says nothing of where it is',
    );
    assert.deepEqual(written, [
      '`shop/src/` ',
      '[/shop/src/edit.py:3]',
      '`press/src/` ',
      '[/press/src/edit.py:3]',
      '[/press/once.py:3]',
    ]);
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

  it('keeps out what a person excluded when the other folder is gone', async () => {
    const { receipts } = await carrel();
    const question = 'how is a login checked?';
    const places = async (): Promise<readonly Place[]> =>
      (await vscode.commands.executeCommand<{ hits: Place[] }>('carrel.copyContext', question)).hits;
    const excluded = (await places()).find(({ path }) => path === 'shop/src/auth.py') ?? assert.fail('it was not there');
    receipts.remove(question, wholeFile(excluded));
    assert(vscode.workspace.updateWorkspaceFolders(1, 1));
    await until('one folder', () => folders().length === 1);
    const left = (await places()).map(({ path }) => path);
    assert(left.length && !left.some(path => path.endsWith('src/auth.py')), left.join());
  });
});

/** The Receipt view and its commands. */

import * as vscode from 'vscode';
import type { ContextClient } from '../context_client';
import { NodeTree } from '../memory/tree';
import { count } from '../memory/labels';
import { receiptNodes, type PlaceNode } from './nodes';
import { wholeFile, type Receipts } from './receipts';

export class ReceiptView implements vscode.Disposable {
  readonly tree: NodeTree;
  private readonly view: vscode.TreeView<unknown>;

  constructor(private readonly receipts: Receipts) {
    this.tree = new NodeTree(() => {
      const { shown } = receipts;
      return receiptNodes(shown, receipts.pinned, shown ? receipts.removed(shown.question.text) : []);
    });
    this.view = vscode.window.createTreeView('carrel.receipt', { treeDataProvider: this.tree });
    receipts.onDidChange(() => this.renew());
    this.renew();
  }

  dispose(): void {
    this.tree.dispose();
    this.view.dispose();
  }

  private renew(): void {
    const { shown } = this.receipts;
    if (shown) this.view.description = count(shown.pack.hits.length, 'place');
    this.tree.renew();
  }
}

export function receiptCommands(receipts: Receipts, contextClient: ContextClient): Record<string, (...args: never[]) => unknown> {
  return {
    'carrel.receipt.show': async (packId?: string) => {
      if (packId) receipts.show(packId);
      await vscode.commands.executeCommand('carrel.receipt.focus');
    },
    'carrel.receipt.open': ({ place }: PlaceNode) => openPlace(place.uri, place.startLine, place.endLine),
    'carrel.receipt.pin': ({ place }: PlaceNode) => receipts.pin(place.uri, true),
    'carrel.receipt.unpin': ({ place }: PlaceNode) => receipts.pin(place.uri, false),
    'carrel.receipt.remove': ({ place }: PlaceNode) => {
      if (receipts.shown) receipts.remove(receipts.shown.question.text, place);
    },
    'carrel.receipt.removeFile': ({ place }: PlaceNode) => {
      if (receipts.shown) receipts.remove(receipts.shown.question.text, wholeFile(place));
    },
    'carrel.receipt.restore': ({ place }: PlaceNode) => {
      if (receipts.shown) receipts.restore(receipts.shown.question.text, place);
    },
    'carrel.receipt.repeat': async () => {
      const { shown } = receipts;
      if (!shown) await vscode.commands.executeCommand('carrel.searchProject');
      else if (shown.question.from === 'review') await vscode.commands.executeCommand('carrel.receipt.ask');
      else await contextClient.repeat(shown);
    },
    'carrel.receipt.ask': async () => {
      const { shown } = receipts;
      if (!shown) {
        await vscode.commands.executeCommand('carrel.ask');
        return;
      }
      const command = shown.question.from === 'review' ? '/review ' : '';
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: `@carrel ${command}${shown.question.text}` });
    },
    'carrel.receipt.copy': async () => {
      const { shown } = receipts;
      if (!shown) throw new Error(vscode.l10n.t('nothing was asked yet.'));
      if (!shown.pack.text && shown.pack.hits.length)
        throw new Error(vscode.l10n.t('the text of this answer was not kept. Search again, then copy it.'));
      await vscode.env.clipboard.writeText(shown.pack.text);
    },
  };
}

/** Lines are 1-based and inclusive, as people count them. */
export async function openPlace(uri: string, startLine: number, endLine: number): Promise<void> {
  if (uri.startsWith('qdrant:')) {
    void vscode.window.showInformationMessage(vscode.l10n.t("This place is in a repository that isn't on this machine."));
    return;
  }
  const place = new vscode.Range(startLine - 1, 0, Math.max(endLine, startLine) - 1, Number.MAX_SAFE_INTEGER);
  const start = new vscode.Range(place.start, place.start);
  const editor = await vscode.window.showTextDocument(vscode.Uri.parse(uri, true), { selection: start, preview: true });
  editor.revealRange(place, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  // Not selected: what is selected goes with the next question. The mark goes with the next click or key.
  const mark = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor('editor.rangeHighlightBackground'),
  });
  editor.setDecorations(mark, [place]);
  const gone = vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
    if (kind === undefined) return;
    gone.dispose();
    mark.dispose();
  });
}

/** The way from an answer to its receipt. */

import * as vscode from 'vscode';
import { count } from '../memory/labels';
import type { ContextResult } from '../protocol';
import { spent } from '../receipts/nodes';

/** A line under the answer: a button would be as wide as the chat. */
export function receiptLink(pack: ContextResult): vscode.MarkdownString {
  const title = vscode.l10n.t('Receipt: {0}, {1}', count(pack.hits.length, 'place'), spent(pack));
  const target = `command:carrel.receipt.show?${encodeURIComponent(JSON.stringify([pack.id]))}`;
  const link = new vscode.MarkdownString(`\n\n[${title}](${target})`);
  link.isTrusted = { enabledCommands: ['carrel.receipt.show'] };
  return link;
}

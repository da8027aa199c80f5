/** Before a question goes to a model, the person may look at what goes with it, and take places out. */

import * as vscode from 'vscode';
import type { ContextResult, HitResult } from '../protocol';
import { lines, spent } from '../receipts/nodes';

/** Gives the places that were taken out; undefined when nothing shall be sent. */
export async function review(pack: ContextResult, token: vscode.CancellationToken): Promise<readonly HitResult[] | undefined> {
  const items = pack.hits.map(hit => ({
    label: `${hit.path}:${lines(hit)}`,
    description: [hit.score.toFixed(2), hit.symbol].filter(Boolean).join(' · '),
    picked: true,
    hit,
  }));
  const kept = await vscode.window.showQuickPick(
    items,
    {
      canPickMany: true,
      ignoreFocusOut: true,
      title: `Carrel sends ${spent(pack)}. Uncheck what shall stay here.`,
    },
    token,
  );
  return kept && items.filter(item => !kept.includes(item)).map(({ hit }) => hit);
}

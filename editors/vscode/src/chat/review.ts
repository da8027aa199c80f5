/** Before a question goes to a model, the person may look at what goes with it, and take files out. */

import * as vscode from 'vscode';
import type { ContextResult } from '../protocol';
import { lines, spent } from '../receipts/nodes';

/** Gives the paths that were taken out; undefined when nothing shall be sent. */
export async function review(pack: ContextResult): Promise<readonly string[] | undefined> {
  const byPath = new Map<string, string[]>();
  for (const hit of pack.hits) byPath.set(hit.path, [...(byPath.get(hit.path) ?? []), `${lines(hit)} (${hit.score.toFixed(2)})`]);
  const items = [...byPath].map(([path, places]) => ({ label: path, description: `lines ${places.join(', ')}`, picked: true }));
  const kept = await vscode.window.showQuickPick(items, {
    canPickMany: true,
    ignoreFocusOut: true,
    title: `Carrel sends ${spent(pack)}. Uncheck what shall stay here.`,
  });
  return kept && items.filter(item => !kept.includes(item)).map(({ label }) => label);
}

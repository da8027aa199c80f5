/** Before a question goes to a model, the person may look at what goes with it, and take places out. */

import * as vscode from 'vscode';
import { numeral } from '../memory/labels';
import type { ContextResult, HitResult } from '../protocol';
import { lines, spent } from '../receipts/nodes';
import { why, type Surroundings } from '../receipts/why';

/** The list says of each place what its receipt says, which stands in the Receipt view meanwhile. Gives the places that were taken out; undefined when nothing shall be sent. */
export async function review(
  pack: ContextResult,
  around: Surroundings | undefined,
  token: vscode.CancellationToken,
): Promise<readonly HitResult[] | undefined> {
  const items = pack.hits.map(hit => ({
    label: `${hit.path}:${lines(hit)}`,
    description: hit.attached ? '' : numeral(hit.score, 2),
    detail: why(hit, around),
    picked: true,
    hit,
  }));
  const kept = await vscode.window.showQuickPick(
    items,
    {
      canPickMany: true,
      ignoreFocusOut: true,
      title: vscode.l10n.t('Carrel: about to send {0}. Uncheck what to leave out.', spent(pack)),
    },
    token,
  );
  return kept && items.filter(item => !kept.includes(item)).map(({ hit }) => hit);
}

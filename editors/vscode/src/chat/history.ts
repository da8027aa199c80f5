/** Earlier turns of a chat as the editor gives them. */

import * as vscode from 'vscode';
import type { Exchange } from './conversation';
import { placeText } from './places';

/** What each earlier turn left, oldest first. */
export function exchangesOf({ history }: vscode.ChatContext): Exchange[] {
  const exchanges: Exchange[] = [];
  let asked = '';
  for (const turn of history) {
    if (turn instanceof vscode.ChatRequestTurn) {
      asked = turn.prompt;
    } else {
      exchanges.push(kept(turn) ?? { asked, said: shownText(turn) });
      asked = '';
    }
  }
  return exchanges;
}

function kept({ result }: vscode.ChatResponseTurn): Exchange | undefined {
  const { asked, said } = (result.metadata ?? {}) as Partial<Record<keyof Exchange, unknown>>;
  return typeof asked === 'string' && typeof said === 'string' ? { asked, said } : undefined;
}

/** What a turn shows that an earlier version of Carrel answered: places as text, without Carrel's notices. */
function shownText({ response }: vscode.ChatResponseTurn): string {
  return response
    .map(part => {
      if (part instanceof vscode.ChatResponseMarkdownPart) return part.value.value.startsWith('> ') ? '' : part.value.value;
      return part instanceof vscode.ChatResponseAnchorPart
        ? placeText(part.value, uri => vscode.workspace.asRelativePath(uri))
        : '';
    })
    .join('')
    .trim();
}

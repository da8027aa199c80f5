/** `Insert Context in Chat`: the places of a context as attachments of the chat that is open, whichever it is. */

import * as vscode from 'vscode';
import { count } from '../memory/labels';
import type { ContextResult } from '../protocol';
import { merged } from '../receipts/merged';

/** The file in another spelling for each earlier place of it: the editor keeps one attachment for each address. */
function spelled(uri: vscode.Uri, earlier: number): vscode.Uri {
  const name = uri.path.lastIndexOf('/') + 1;
  return uri.with({ path: uri.path.slice(0, name) + './'.repeat(earlier) + uri.path.slice(name) });
}

/**
 * Attach the places and put the question into the input; the person sends it. The editor reads attachments itself, so a place with a secret,
 * which Carrel masks, isn't attached.
 */
export async function attach({ hits, query }: ContextResult): Promise<void> {
  const open = hits.filter(({ masked }) => !masked);
  await vscode.commands.executeCommand('workbench.action.chat.open', {
    query,
    isPartialQuery: true,
    // The command takes the editor's own form of ranges, which no type of the API has.
    attachFiles: merged(open).map(({ uri, startLine, endLine }, at, all) => ({
      uri: spelled(vscode.Uri.parse(uri, true), all.slice(0, at).filter(other => other.uri === uri).length),
      range: { startLineNumber: startLine, startColumn: 1, endLineNumber: endLine, endColumn: Number.MAX_SAFE_INTEGER },
    })),
  });
  if (open.length < hits.length) {
    const left = count(hits.length - open.length, 'place');
    void vscode.window.showInformationMessage(
      vscode.l10n.t('Carrel: {0} with a secret inside not attached: the chat would read the secret.', left),
    );
  }
}

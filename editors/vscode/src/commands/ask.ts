/** `Carrel: Ask @carrel`. */

import * as vscode from 'vscode';

/** Open the chat. An editor before 1.104 has no chat model of Carrel's: where it has none at all, say what to do. */
export async function ask(): Promise<void> {
  if ((await vscode.lm.selectChatModels()).length) {
    await vscode.commands.executeCommand('workbench.action.chat.open', { query: '@carrel ', isPartialQuery: true });
    return;
  }
  const text = vscode.l10n.t(
    'Carrel: no chat model is signed in. Install one, such as GitHub Copilot, and sign in; searching needs none.',
  );
  const [find, search] = [vscode.l10n.t('Find One'), vscode.l10n.t('Search')];
  const chosen = await vscode.window.showInformationMessage(text, find, search);
  if (chosen === find) await vscode.commands.executeCommand('workbench.extensions.search', '@category:chat');
  if (chosen === search) await vscode.commands.executeCommand('carrel.searchProject');
}

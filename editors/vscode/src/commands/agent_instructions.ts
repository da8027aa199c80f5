/** Instructions that tell agents when to search with Carrel: a file of the extension's, which counts while the person's own setting says so. */

import * as vscode from 'vscode';

const SETTING = 'carrel.agents.instructions';

/** Show what agents would be told and have the person decide; gives whether they are told now. Nothing is written into a project. */
export async function decideInstructions(extension: vscode.Uri): Promise<boolean> {
  const settings = vscode.workspace.getConfiguration();
  const on = settings.get<boolean>(SETTING, false);
  const file = vscode.Uri.joinPath(extension, 'media/chat/carrel.instructions.md');
  await vscode.window.showTextDocument(file, { preview: true });
  const text = on
    ? vscode.l10n.t('Agents are told when to search with Carrel: this text goes with what you ask them. Go on?')
    : vscode.l10n.t(
        'Tell agents when to search with Carrel? This text then goes with what you ask them, in all your projects. Nothing is written into a project.',
      );
  const change = on ? vscode.l10n.t('Stop') : vscode.l10n.t('Tell Them');
  const chosen = await vscode.window.showInformationMessage(text, change, on ? vscode.l10n.t('Go On') : vscode.l10n.t('Not Now'));
  if (chosen !== change) return on;
  await settings.update(SETTING, on ? undefined : true, vscode.ConfigurationTarget.Global);
  return !on;
}

/** A quiet offer for each folder to index it. */

import * as vscode from 'vscode';
import { localFolders, type Memory } from './memory/memory';
import type { Switches } from './switches';

const OFFERED = 'carrel.offered';
/** A message that fades unseen is shown once more, when the folder is opened the next time. */
const MOST_OFFERS = 2;
const YES = vscode.l10n.t('Remember');
const NO = vscode.l10n.t('Not Now');
const NEVER = vscode.l10n.t("Don't Ask Again");

/** Asks until somebody answers, at most twice for a folder, and never where memory is on, not trusted or not wanted. */
export async function offerMemory(context: vscode.ExtensionContext, switches: Switches, memory: Memory): Promise<void> {
  if (!localFolders().length || switches.anyOn || !switches.usable) return;
  const offers = context.workspaceState.get<number>(OFFERED, 0);
  if (offers >= MOST_OFFERS || context.globalState.get(OFFERED)) return;
  await context.workspaceState.update(OFFERED, offers + 1);
  const text = vscode.l10n.t(
    'Remember this project? Carrel indexes it, so that @carrel and agents find the right code. The index stays on this machine.',
  );
  const answer = await vscode.window.showInformationMessage(text, YES, NO, NEVER);
  if (answer) await context.workspaceState.update(OFFERED, MOST_OFFERS);
  if (answer === NEVER) await context.globalState.update(OFFERED, true);
  if (answer === YES) await turnOn(switches, memory);
}

/** Index the project now, and keep its index current from now on. */
export async function turnOn(switches: Switches, memory: Memory): Promise<void> {
  if (!localFolders().length) throw new Error(vscode.l10n.t('open a folder first.'));
  if (switches.usable) {
    await switches.turn('ragEnabled', true);
    await switches.turn('ragAutoIndex', true);
  }
  await memory.indexAndTell();
}

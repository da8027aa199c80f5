/** One quiet offer for each folder to turn its memory on. */

import * as vscode from 'vscode';
import { localFolders } from './memory/memory';
import { change, memoryIsOn } from './settings';
import type { Supervisor } from './server/supervisor';

const OFFERED = 'carrel.offered';
const YES = 'Turn On';
const NEVER = "Don't Offer Again";

/** Asks at most once for a folder, and never where memory is on, not trusted or not wanted. */
export async function offerMemory(context: vscode.ExtensionContext, server: Supervisor): Promise<void> {
  if (!localFolders().length || memoryIsOn() || !vscode.workspace.isTrusted) return;
  if (context.workspaceState.get(OFFERED) || context.globalState.get(OFFERED)) return;
  await context.workspaceState.update(OFFERED, true);
  const text = 'Shall Carrel remember this project, so that chats get the right pages of it? The index stays on this machine.';
  const answer = await vscode.window.showInformationMessage(text, YES, 'Not Now', NEVER);
  if (answer === NEVER) await context.globalState.update(OFFERED, true);
  if (answer === YES) await turnOn(server);
}

export async function turnOn(server: Supervisor): Promise<void> {
  await change('ragEnabled', true);
  await change('ragAutoIndex', true);
  await server.start();
}

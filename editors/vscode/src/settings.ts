/** Settings: what the server gets, and where the extension writes. */

import * as vscode from 'vscode';
import { SETTING_KEYS } from './protocol';

export type SettingKey = (typeof SETTING_KEYS)[number];

export function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('carrel');
}

/**
 * What a person set, for the server. A setting at its default is null, so that the user's own settings file, which the
 * command line reads too, counts there.
 */
export function serverSettings(): Record<string, unknown> {
  const all = configuration();
  return Object.fromEntries(SETTING_KEYS.map(key => [key, isSet(all.inspect(key)) ? valueOf(key, all) : null]));
}

export interface Budget {
  readonly chars?: number;
  readonly tokens?: number;
}

export function budget(): Budget {
  return valueOf('budget', configuration()) as Budget;
}

function valueOf(key: SettingKey, all: vscode.WorkspaceConfiguration): unknown {
  if (key !== 'budget') return all.get(key);
  // VS Code lays objects over each other: tokens here and characters there would make a budget of both.
  const found = all.inspect<Budget>(key);
  return found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue ?? found?.defaultValue ?? {};
}

/** Set for this workspace where there is one, else for the user. */
export async function change(key: SettingKey, value: unknown): Promise<void> {
  const target = vscode.workspace.workspaceFolders?.length
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await configuration().update(key, value, target);
}

export function memoryIsOn(): boolean {
  return (['ragEnabled', 'ragAutoIndex'] as const).some(key => configuration().get<boolean>(key));
}

function isSet(found: Inspected): boolean {
  return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some(value => value !== undefined);
}

type Inspected = { globalValue?: unknown; workspaceValue?: unknown; workspaceFolderValue?: unknown } | undefined;

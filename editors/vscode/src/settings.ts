/** Settings: what the server gets, and where the extension writes. */

import * as vscode from 'vscode';
import { ignoreLines } from './editor_excludes';
import { SETTING_KEYS } from './protocol';

export type SettingKey = (typeof SETTING_KEYS)[number];

export function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('carrel');
}

/** The editor's own settings that the server hears of. */
export const EDITOR_EXCLUDES = ['files.exclude', 'search.exclude'] as const;

/**
 * What a person set, for the server, and what the editor excludes from a folder. A setting at its default is null, so that
 * the user's own settings file, which the command line reads too, counts there.
 */
export function serverSettings(folder?: vscode.Uri): Record<string, unknown> {
  const all = configuration();
  const set = Object.fromEntries(SETTING_KEYS.map(key => [key, isSet(all.inspect(key)) ? valueOf(key, all) : null]));
  return { ...set, editorExclude: editorExclude(folder) };
}

/** For no folder in particular, what any of them excludes: rather too little is read than too much. */
function editorExclude(folder?: vscode.Uri): string[] {
  const folders = folder ? [folder] : (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const lines = folders.flatMap(scope => {
    const editor = vscode.workspace.getConfiguration(undefined, scope);
    return EDITOR_EXCLUDES.flatMap(key => ignoreLines(editor.get(key)));
  });
  return [...new Set(lines)];
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

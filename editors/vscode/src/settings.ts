/** Settings: what the server gets, and where the extension writes. */

import * as vscode from 'vscode';
import { ignoreLines } from './editor_excludes';
import { SETTING_KEYS } from './protocol';
import { SWITCHES, type Switches } from './switches';

export type SettingKey = (typeof SETTING_KEYS)[number];

export function configuration(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('carrel');
}

const EXCLUDES = ['files.exclude', 'search.exclude'] as const;
const ASSOCIATIONS = 'files.associations';
/** The editor's own settings that the server hears of. */
export const EDITOR_SETTINGS = [...EXCLUDES, ASSOCIATIONS] as const;

/**
 * What a person set, for the server, and what the editor says of a folder. A setting at its default is null, so that
 * the user's own settings file, which the command line reads too, counts there.
 */
export function serverSettings(switches: Switches, folder?: vscode.Uri): Record<string, unknown> {
  const all = configuration();
  const set = Object.fromEntries(SETTING_KEYS.map(key => [key, isSet(all.inspect(key)) ? valueOf(key, all) : null]));
  for (const key of SWITCHES) {
    if (!switches.usable) set[key] = false;
    else if (switches.chosen(key) !== undefined) set[key] = switches.isOn(key);
  }
  return { ...set, editorExclude: editorExclude(folder), editorLanguages: editorLanguages(folder) };
}

/** For no folder in particular, what any of them excludes: rather too little is read than too much. */
function editorExclude(folder?: vscode.Uri): string[] {
  const folders = folder ? [folder] : (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const lines = folders.flatMap(scope => {
    const editor = vscode.workspace.getConfiguration(undefined, scope);
    return EXCLUDES.flatMap(key => ignoreLines(editor.get(key)));
  });
  return [...new Set(lines)];
}

/** Patterns for names, or for paths below any folder: others are bound to the machine's whole path. */
function editorLanguages(folder?: vscode.Uri): Record<string, string> {
  const set = vscode.workspace.getConfiguration(undefined, folder).get<Record<string, string>>(ASSOCIATIONS, {});
  return Object.fromEntries(Object.entries(set).filter(([glob]) => !glob.includes('/') || glob.startsWith('**/')));
}

export interface Budget {
  readonly chars?: number;
  readonly tokens?: number;
}

export function budget(): Budget {
  return valueOf('budget', configuration()) as Budget;
}

/** How many places a person wants at most; undefined at the default, where the budget decides. */
export function chosenTopK(): number | undefined {
  const found = configuration().inspect<number>('ragTopK');
  const value = configuration().get<number>('ragTopK');
  return value === found?.defaultValue ? undefined : value;
}

/** How many tokens the budget grows to with the chat model's window; undefined where a person set one, which never grows. */
export function growsTo(): number | undefined {
  const all = configuration();
  if (isSet(all.inspect('budget')) || !all.get<number>('budgetShare', 0)) return undefined;
  return all.get<number>('budgetCeiling');
}

function valueOf(key: SettingKey, all: vscode.WorkspaceConfiguration): unknown {
  if (key !== 'budget') return all.get(key);
  // VS Code lays objects over each other: tokens here and characters there would make a budget of both.
  const found = all.inspect<Budget>(key);
  return found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue ?? found?.defaultValue ?? {};
}

/** Set for the user: what is somebody's taste doesn't belong into a project. Where the project says it already, there. */
export async function change(key: SettingKey, value: unknown): Promise<void> {
  const { Global, Workspace } = vscode.ConfigurationTarget;
  await configuration().update(key, value, configuration().inspect(key)?.workspaceValue === undefined ? Global : Workspace);
}

function isSet(found: Inspected): boolean {
  return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some(value => value !== undefined);
}

type Inspected = { globalValue?: unknown; workspaceValue?: unknown; workspaceFolderValue?: unknown } | undefined;

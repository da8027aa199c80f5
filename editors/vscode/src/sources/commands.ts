/** `Carrel: Sources…`: what is searched beside the workspace, added and removed by the person; the server asks them before it writes. */

import * as vscode from 'vscode';
import type { SourceChanged, SourcesAddParams } from '../protocol';
import type { Supervisor } from '../server/supervisor';
import { ADDING, addressProblem, nameProblem, sourceRows, suggestedName, type Adding, type Row } from './rows';

type Item = vscode.QuickPickItem & { readonly row?: Row };
type Place = Pick<SourcesAddParams, 'place' | 'git'>;

const REMOVE: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('trash'), tooltip: vscode.l10n.t('Remove this source') };

export function sourceCommands(server: Supervisor): Record<string, () => unknown> {
  const sources = new Sources(server);
  return { 'carrel.showSources': () => sources.show() };
}

class Sources {
  constructor(private readonly server: Supervisor) {}

  /** The list, again after each change, until it is closed. */
  async show(): Promise<void> {
    for (let chosen = await this.choose(); chosen; chosen = await this.choose()) {
      const { row, remove, taken } = chosen;
      try {
        if (remove && row.source)
          tell(
            await this.server.request('carrel/sources/remove', { id: row.source }),
            vscode.l10n.t('Carrel: the source {0} is removed', row.source),
          );
        else if (row.adds) await this.add(row.adds, taken);
      } catch (error) {
        // The list comes again, so that a wrong folder costs one click.
        await vscode.window.showErrorMessage(`Carrel: ${error instanceof Error ? error.message : String(error)}`, {
          modal: true,
        });
      }
    }
  }

  private async add(adds: Adding, taken: readonly string[]): Promise<void> {
    const place = adds === 'documents' || adds === 'history' ? await folderOf(adds) : await addressOf(adds);
    if (!place) return;
    const id = await vscode.window.showInputBox({
      title: vscode.l10n.t('Carrel: Name of the Source'),
      prompt: vscode.l10n.t('Answers name its places by it, as in @runbooks/restart.md'),
      value: adds === 'history' ? suggestedName('history', taken) : suggestedName(place.place ?? '', taken),
      ignoreFocusOut: true,
      validateInput: text => nameProblem(text.trim(), taken),
    });
    if (!id) return;
    const description = await vscode.window.showInputBox({
      title: vscode.l10n.t('Carrel: What Does It Hold?'),
      prompt: vscode.l10n.t('One line that helps to tell which questions it answers. It may be empty'),
      ignoreFocusOut: true,
      validateInput: text => (text.length > 300 ? vscode.l10n.t('One line of at most 300 characters') : undefined),
    });
    if (description === undefined) return;
    tell(
      await this.server.request('carrel/sources/add', { ...place, id: id.trim(), description }),
      vscode.l10n.t('Carrel: the source {0} is added', id.trim()),
    );
  }

  private async choose(): Promise<{ row: Row; remove: boolean; taken: string[] } | undefined> {
    const pick = vscode.window.createQuickPick<Item>();
    pick.title = vscode.l10n.t('Carrel: Sources');
    pick.placeholder = vscode.l10n.t('What questions are answered from, in all your projects');
    pick.ignoreFocusOut = true;
    pick.matchOnDescription = true;
    pick.busy = true;
    let taken: string[] = [];
    const chosen = new Promise<{ row: Row; remove: boolean } | undefined>(resolve => {
      // A row of a source only shows it: the list stays.
      pick.onDidAccept(() => {
        const row = pick.selectedItems[0]?.row;
        if (row?.adds) resolve({ row, remove: false });
      });
      pick.onDidTriggerItemButton(({ item: { row } }) => row && resolve({ row, remove: true }));
      pick.onDidHide(() => resolve(undefined));
    });
    pick.show();
    const filled = this.server.request('carrel/sources', {}).then(({ sources }) => {
      taken = sources.map(({ id }) => id);
      pick.items = [
        heading(vscode.l10n.t('searched')),
        ...sources.flatMap(sourceRows).map(row => itemOf(row, row.source ? [REMOVE] : [])),
        heading(vscode.l10n.t('actions')),
        ...ADDING.map(row => itemOf(row, [])),
      ];
      pick.busy = false;
    });
    try {
      const found = await Promise.race([chosen, filled.then(() => chosen)]);
      return found && { ...found, taken };
    } finally {
      pick.dispose();
    }
  }
}

function tell({ changed, problem }: SourceChanged, done: string): void {
  if (changed) void vscode.window.setStatusBarMessage(done, 8_000);
  else if (problem) void vscode.window.showInformationMessage(`Carrel: ${problem}`);
}

async function folderOf(adds: 'documents' | 'history'): Promise<Place | undefined> {
  if (adds === 'history') {
    const [own, other] = [vscode.l10n.t('Of Each Workspace That Is Open'), vscode.l10n.t('Of Another Repository…')];
    const which = await vscode.window.showQuickPick([own, other], { title: vscode.l10n.t('Carrel: Whose History?') });
    if (!which) return undefined;
    if (which === own) return { git: true };
  }
  const [folder] =
    (await vscode.window.showOpenDialog({
      canSelectFiles: false,
      canSelectFolders: true,
      openLabel: vscode.l10n.t('Add as Source'),
      title:
        adds === 'history' ? vscode.l10n.t('Carrel: Folder of the Repository') : vscode.l10n.t('Carrel: Folder of Documents'),
    })) ?? [];
  return folder && { place: folder.fsPath, ...(adds === 'history' ? { git: true } : {}) };
}

async function addressOf(adds: 'resources' | 'repository'): Promise<Place | undefined> {
  const place = await vscode.window.showInputBox({
    title: adds === 'resources' ? vscode.l10n.t('Carrel: Which MCP Server?') : vscode.l10n.t('Carrel: Which Repository?'),
    value: adds === 'resources' ? 'mcp://' : 'qdrant://',
    valueSelection: [9, 9],
    ignoreFocusOut: true,
    validateInput: text => addressProblem(adds, text),
  });
  return place ? { place: place.trim() } : undefined;
}

function heading(label: string): Item {
  return { label, kind: vscode.QuickPickItemKind.Separator };
}

function itemOf(row: Row, buttons: readonly vscode.QuickInputButton[]): Item {
  const { label, description = '', detail } = row;
  return { label, description, ...(detail ? { detail } : {}), ...(buttons.length ? { buttons } : {}), row };
}

/** `Carrel: Models and Keys…`, and its actions as commands of their own. */

import * as vscode from 'vscode';
import type { ProvidersResult } from '../protocol';
import type { Supervisor } from '../server/supervisor';
import { keyProblem, type Keys } from './keys';
import { ACTIONS, keyRows, modelRows, type Row } from './rows';

const CHOOSE = vscode.l10n.t('Choose a model to enter its key, or an action');

type Item = vscode.QuickPickItem & { readonly row?: Row };

export function modelCommands(server: Supervisor, keys: Keys): Record<string, () => unknown> {
  const models = new Models(server, keys);
  return {
    'carrel.models': () => models.show(),
    'carrel.models.enterKey': () => models.enterKey(),
    'carrel.models.removeKey': () => models.removeKey(),
    'carrel.models.check': () => models.show(true),
  };
}

class Models {
  readonly #keys: Keys;

  constructor(
    private readonly server: Supervisor,
    keys: Keys,
  ) {
    this.#keys = keys;
  }

  /** The list, again after each action, until it is closed. `check` asks each model first. */
  async show(check = false): Promise<void> {
    for (let row = await this.choose(check); row; row = await this.choose(row.action === 'check')) {
      if (row.action === 'removeKey') await this.removeKey();
      else if (row.action === 'enterKey' || (!row.action && row.provider)) await this.enterKey(row.provider);
      else if (row.problem) await vscode.window.showWarningMessage(`Carrel: ${row.problem}`, { modal: true });
      else if (row.action !== 'check') {
        await vscode.commands.executeCommand('workbench.action.openSettings', 'carrel.models');
        return;
      }
    }
  }

  async enterKey(given?: string): Promise<void> {
    const provider = given ?? (await this.provider());
    if (!provider) return;
    const text = await vscode.window.showInputBox({
      title: vscode.l10n.t('Carrel: Key for {0}', provider),
      prompt: vscode.l10n.t("It is kept in the editor's secret storage, not in your settings, and given to Carrel's server only"),
      password: true,
      ignoreFocusOut: true,
      validateInput: keyProblem,
    });
    if (text === undefined || keyProblem(text)) return;
    await this.#keys.set(provider, text.trim());
    await this.server.giveKeys();
    void vscode.window.setStatusBarMessage(vscode.l10n.t('Carrel: the key for {0} is kept', provider), 5_000);
  }

  async removeKey(): Promise<void> {
    const kept = await this.#keys.providers();
    if (!kept.length) {
      void vscode.window.showInformationMessage(
        vscode.l10n.t('Carrel: the editor keeps no key. One in the environment or in the keyring is removed there.'),
      );
      return;
    }
    const provider = await vscode.window.showQuickPick(kept, {
      title: vscode.l10n.t('Carrel: Remove the Key of Which Provider?'),
    });
    if (!provider) return;
    await this.#keys.remove(provider);
    await this.server.giveKeys();
    void vscode.window.setStatusBarMessage(vscode.l10n.t('Carrel: the key for {0} is removed', provider), 5_000);
  }

  private async provider(): Promise<string | undefined> {
    const found = await this.server.request('carrel/providers', {});
    const rows = keyRows(found, await this.#keys.providers());
    if (!rows.length) throw new Error(vscode.l10n.t('this version of the server knows nothing that takes a key.'));
    return (await vscode.window.showQuickPick(rows.map(itemOf), { title: vscode.l10n.t('Carrel: Enter the Key of What?') }))?.row
      ?.provider;
  }

  /** Stays while a test runs, and while a dialog asks for a permission. */
  private async choose(check: boolean): Promise<Row | undefined> {
    const pick = vscode.window.createQuickPick<Item>();
    const over = new vscode.CancellationTokenSource();
    pick.title = vscode.l10n.t('Carrel: Models and Keys');
    pick.placeholder = check ? vscode.l10n.t('Asking each model…') : CHOOSE;
    pick.ignoreFocusOut = true;
    pick.busy = true;
    const chosen = new Promise<Row | undefined>(resolve => {
      pick.onDidAccept(() => resolve(pick.selectedItems[0]?.row));
      pick.onDidHide(() => resolve(undefined));
    });
    pick.show();
    const filled = this.server.request('carrel/providers', { check }, over.token).then(found => {
      pick.items = items(found);
      pick.placeholder = CHOOSE;
      pick.busy = false;
    });
    try {
      return await Promise.race([chosen, filled.then(() => chosen)]);
    } finally {
      over.cancel();
      pick.dispose();
    }
  }
}

function items({ models }: ProvidersResult): Item[] {
  const heading = (label: string): Item => ({ label, kind: vscode.QuickPickItemKind.Separator });
  return [
    heading(vscode.l10n.t('models')),
    ...models.flatMap(modelRows).map(itemOf),
    heading(vscode.l10n.t('actions')),
    ...ACTIONS.map(itemOf),
  ];
}

function itemOf(row: Row): Item {
  const { label, description = '', detail } = row;
  return { label, description, ...(detail ? { detail } : {}), row };
}

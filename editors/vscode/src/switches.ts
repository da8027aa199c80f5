/** Whether a project's memory is on: the person's choice for this project, kept by the editor and not in the project. */

import * as vscode from 'vscode';

export const SWITCHES = ['ragEnabled', 'ragAutoIndex'] as const;
export type Switch = (typeof SWITCHES)[number];

/** Where the choice outlives the window: the editor's own storage for this workspace. */
export interface ChoiceStorage {
  get(key: string): unknown;
  update(key: string, value: unknown): PromiseLike<void>;
}

export class Switches implements vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable[];
  private readonly own = new Map(SWITCHES.map(key => [key, ownSetting(key)]));
  /** Fires after a switch, or whether it can be used, has changed. */
  readonly onDidChange = this.emitter.event;

  constructor(private readonly storage: ChoiceStorage) {
    this.disposables = [
      this.emitter,
      vscode.workspace.onDidChangeConfiguration(event => void this.follow(event)),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.emitter.fire()),
    ];
  }

  /** In Restricted Mode nothing is switched on, whoever asked for it. */
  get usable(): boolean {
    return vscode.workspace.isTrusted;
  }

  isOn(key: Switch): boolean {
    return this.usable && (this.chosen(key) ?? vscode.workspace.getConfiguration('carrel').get<boolean>(key, false));
  }

  get anyOn(): boolean {
    return SWITCHES.some(key => this.isOn(key));
  }

  /** What the person chose for this project; undefined where the settings say it. */
  chosen(key: Switch): boolean | undefined {
    const value = this.storage.get(nameOf(key));
    return typeof value === 'boolean' ? value : undefined;
  }

  async turn(key: Switch, on: boolean | undefined): Promise<void> {
    await this.storage.update(nameOf(key), on);
    this.emitter.fire();
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Who changes their own setting after the switch means the setting: the last act counts. What comes with a project doesn't. */
  private async follow(event: vscode.ConfigurationChangeEvent): Promise<void> {
    const changed = SWITCHES.filter(key => event.affectsConfiguration(`carrel.${key}`));
    for (const key of changed) {
      if (this.own.get(key) === ownSetting(key)) continue;
      this.own.set(key, ownSetting(key));
      await this.storage.update(nameOf(key), undefined);
    }
    if (changed.length) this.emitter.fire();
  }
}

function ownSetting(key: Switch): unknown {
  return vscode.workspace.getConfiguration('carrel').inspect(key)?.globalValue;
}

function nameOf(key: Switch): string {
  return `carrel.${key}`;
}

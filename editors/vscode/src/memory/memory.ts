/** The project memory of this window: its state, its view and its status-bar item, kept current by the server. */

import * as vscode from 'vscode';
import type { IndexResult, StatusResult } from '../protocol';
import { budget, chosenTopK, growsTo } from '../settings';
import type { Switches } from '../switches';
import { messageOf, type Supervisor } from '../server/supervisor';
import { memoryNodes, type Choices, type Node } from './nodes';
import { MemoryState } from './state';
import { NodeTree } from './tree';
import { badge, cancelledText, count, progressText } from './labels';

/** The whole status is asked for so long after the last change: it counts more than a notification does. */
const REST_MS = 300;
/** Then the answer is what is there by then. */
const FIRST_INDEX_MS = 30_000;
/** A small project is whole by then. */
const MOMENT_MS = 3_000;

export class Memory implements vscode.Disposable {
  readonly state = new MemoryState();
  readonly tree: NodeTree;
  readonly item = vscode.window.createStatusBarItem('carrel', vscode.StatusBarAlignment.Right, 50);
  private readonly view: vscode.TreeView<Node>;
  private readonly disposables: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private inSight: Promise<unknown> | undefined;

  constructor(
    private readonly server: Supervisor,
    private readonly switches: Switches,
    answers: () => readonly Node[],
  ) {
    this.tree = new NodeTree(() => memoryNodes(this.choices(), server.state, this.state.work, this.folders(), answers()));
    this.view = vscode.window.createTreeView('carrel.memory', { treeDataProvider: this.tree, manageCheckboxStateManually: true });
    this.item.name = 'Carrel';
    this.disposables = [
      this.tree,
      this.view,
      this.item,
      this.view.onDidChangeVisibility(({ visible }) => visible && void this.refresh().catch(() => undefined)),
      this.view.onDidChangeCheckboxState(({ items }) => void this.toggle(items)),
      server.onDidChangeState(({ kind }) => {
        if (kind !== 'running') this.state.forgetWork();
        else this.refreshSoon();
        this.renew();
      }),
      server.onStatus(status => {
        this.state.update(status, true);
        this.renew();
        if (status.state !== 'indexing') this.refreshSoon();
      }),
      server.onProgress(({ token, progress }) => {
        this.state.progress(token, progress);
        this.renew();
      }),
      switches.onDidChange(() => this.renew()),
      vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('carrel') && this.renew()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        this.state.keep(status => localFolders().some(({ uri }) => isOf(status, uri)));
        this.renew();
      }),
    ];
    this.renew();
    this.item.show();
  }

  /** Ask the server for each folder's whole status. Starts the server. */
  async refresh(): Promise<void> {
    for (const folder of localFolders()) {
      this.state.update(await this.server.request('carrel/status', { workspaceFolder: folder.uri.toString() }), false);
    }
    this.renew();
  }

  /** Index one folder, or every one, where a person can see it and stop it: one such progress at a time. */
  async index(only?: string): Promise<IndexResult[]> {
    await this.inSight?.catch(() => undefined);
    const options = {
      location: vscode.ProgressLocation.Notification,
      title: vscode.l10n.t('Carrel: indexing'),
      cancellable: true,
    };
    const results = vscode.window.withProgress(options, async (progress, token) => {
      let reached = 0;
      const following = this.server.onProgress(() => {
        const { work: now } = this.state;
        if (!now) return;
        progress.report({ message: progressText(now), increment: Math.max(now.percentage - reached, 0) });
        reached = Math.max(reached, now.percentage);
      });
      try {
        return await this.indexUnseen(token, only);
      } finally {
        following.dispose();
      }
    });
    this.inSight = Promise.resolve(results);
    return results;
  }

  /** Index one folder, or every one; whoever asks for it shows the progress. Of a run that is cancelled only what ended is given. */
  async indexUnseen(token: vscode.CancellationToken, only?: string): Promise<IndexResult[]> {
    const results: IndexResult[] = [];
    try {
      for (const { uri } of localFolders()) {
        if (!only || uri.toString() === only) results.push(await this.server.index({ workspaceFolder: uri.toString() }, token));
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
    await this.refresh();
    return results;
  }

  /** As `index`, and say in the status bar what came of it. */
  async indexAndTell(only?: string): Promise<IndexResult[]> {
    const results = await this.index(only);
    void vscode.window.setStatusBarMessage(`Carrel: ${results.length ? summary(results) : this.cancelled()}`, 8_000);
    return results;
  }

  /** What is said of a run that was cancelled: nothing of it is lost. */
  cancelled(): string {
    return cancelledText(this.state.all);
  }

  /** Learn how the index is, where that isn't known yet. A question starts a first one by itself; the status bar shows it. */
  async look(): Promise<void> {
    if (!this.folders().every(({ status }) => status && status.state !== 'empty')) await this.refresh();
  }

  /** Whether anything can be found yet, or runs found nothing to index in any folder. */
  get hasIndex(): boolean {
    const { all } = this.state;
    return all.some(({ files }) => files) || (all.length > 0 && all.every(({ state }) => state === 'ready'));
  }

  /** How long a question waits for a first index. Where a part of one is there, an answer from it comes soon, and says so. */
  get waitMs(): number {
    const begun = this.folders().some(({ status }) => status?.files && status.unfinished);
    return begun ? MOMENT_MS : FIRST_INDEX_MS;
  }

  cancel(): void {
    for (const token of this.state.tokens) this.server.cancelProgress(token);
  }

  async clear(): Promise<number> {
    let freed = 0;
    for (const folder of localFolders()) {
      freed += (await this.server.request('carrel/clear', { workspaceFolder: folder.uri.toString() })).freedBytes;
    }
    await this.refresh();
    return freed;
  }

  renew(): void {
    const { anyOn: on, usable } = this.switches;
    const shown = badge(this.server.state, this.state.all, this.state.work, { on, usable });
    this.item.text = shown.text;
    this.item.accessibilityInformation = { label: shown.spoken, role: 'button' };
    this.item.tooltip = shown.tooltip;
    this.item.command = shown.command;
    this.item.backgroundColor = shown.trouble ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    const indexing = this.state.indexing;
    void vscode.commands.executeCommand('setContext', 'carrel.indexing', indexing);
    if (this.state.all.some(({ state }) => state === 'ready'))
      void vscode.commands.executeCommand('setContext', 'carrel.indexed', true);
    this.view.badge = indexing ? { value: 1, tooltip: vscode.l10n.t('Indexing') } : undefined;
    this.tree.renew();
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const disposable of this.disposables) disposable.dispose();
  }

  private refreshSoon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      // A server that was stopped meanwhile mustn't be started for this.
      if (this.server.answers) void this.refresh().catch(() => undefined);
    }, REST_MS);
  }

  private async toggle(items: readonly [Node, vscode.TreeItemCheckboxState][]): Promise<void> {
    try {
      for (const [node, state] of items) {
        if (node.toggle) await this.switches.turn(node.toggle.key, state === vscode.TreeItemCheckboxState.Checked);
      }
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("Carrel: this can't be switched: {0}", messageOf(error)));
      this.tree.redraw(); // the box shows the setting as it is
    }
  }

  private choices(): Choices {
    return {
      enabled: this.switches.isOn('ragEnabled'),
      autoIndex: this.switches.isOn('ragAutoIndex'),
      usable: this.switches.usable,
      topK: chosenTopK(),
      budget: budget(),
      growsTo: growsTo(),
    };
  }

  private folders(): { name: string; uri: string; status: ReturnType<MemoryState['status']> }[] {
    return localFolders().map(({ name, uri }) => ({ name, uri: uri.toString(), status: this.statusOf(uri) }));
  }

  /** What paths of answers call a folder of the window. */
  nameOf({ name, uri }: vscode.WorkspaceFolder): string {
    return this.statusOf(uri)?.name ?? name;
  }

  private statusOf(uri: vscode.Uri): ReturnType<MemoryState['status']> {
    return this.state.status(uri.toString()) ?? this.state.all.find(status => isOf(status, uri));
  }
}

/** The server writes URIs in its own way (a drive's colon, an escaped bracket): compare what they mean. */
function isOf(status: StatusResult, folder: vscode.Uri): boolean {
  return vscode.Uri.parse(status.workspaceFolder).fsPath === folder.fsPath;
}

/** The window's folders that lie on a disk which the server can read. */
export function localFolders(): readonly vscode.WorkspaceFolder[] {
  return (vscode.workspace.workspaceFolders ?? []).filter(folder => folder.uri.scheme === 'file');
}

export function summary(results: readonly IndexResult[]): string {
  const sum = (of: (result: IndexResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const parts = [
    [sum(one => one.added + one.changed), vscode.l10n.t('{0} indexed')],
    [sum(one => one.removed), vscode.l10n.t('{0} removed')],
    [sum(one => one.failed), vscode.l10n.t('{0} failed')],
  ] as const;
  const told = parts.filter(([files]) => files).map(([files, what]) => what.replace('{0}', count(files, 'file')));
  const unchanged = count(
    sum(one => one.unchanged),
    'file',
  );
  return told.join(vscode.l10n.t(', ')) || vscode.l10n.t('nothing has changed, {0} indexed', unchanged);
}

export function isCancelled(error: unknown): boolean {
  return (
    error instanceof vscode.CancellationError ||
    (error as { code?: number } | undefined)?.code === -32800 ||
    /\bcancelled\b/i.test(messageOf(error))
  );
}

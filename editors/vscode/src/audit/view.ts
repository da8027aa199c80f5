/** The Audit view: what was given to whom, as the server's log has it. It only reads. */

import * as vscode from 'vscode';
import { NodeTree } from '../memory/tree';
import type { AuditEntry, AuditResult } from '../protocol';
import type { Receipts } from '../receipts/receipts';
import type { Supervisor } from '../server/supervisor';
import { auditNodes, filterText, KINDS, readable, SPANS, type Filter } from './entries';

const SCHEME = 'carrel-audit';
const MOST = 200;

export class AuditView implements vscode.Disposable {
  readonly tree: NodeTree;
  private readonly view: vscode.TreeView<unknown>;
  private readonly disposables: vscode.Disposable[];
  private result: AuditResult | undefined;
  private filter: Filter = { kind: '', since: '' };

  constructor(
    private readonly server: Supervisor,
    private readonly receipts: Receipts,
  ) {
    this.tree = new NodeTree(() => auditNodes(this.result, MOST, id => this.question(id)));
    this.view = vscode.window.createTreeView('carrel.audit', { treeDataProvider: this.tree });
    this.disposables = [
      this.tree,
      this.view,
      this.view.onDidChangeVisibility(() => this.follow()),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        provideTextDocumentContent: ({ query }) => this.page(query),
      }),
    ];
    // The server writes an entry in a moment, after it has answered.
    receipts.onDidChange(() => void setTimeout(() => this.follow(), 600));
  }

  /** Ask for the entries; the view shows them. Starts a server that doesn't run. */
  async refresh(): Promise<AuditResult> {
    const { kind, since } = this.filter;
    const params = { limit: MOST, ...(kind ? { kind } : {}), ...(since ? { since } : {}) };
    this.result = await this.server.request('carrel/audit', params);
    this.view.description = kind || since ? filterText(this.filter) : '';
    this.tree.renew();
    return this.result;
  }

  /** Show these only, chosen in two lists where it isn't said. */
  async choose(given?: Filter): Promise<void> {
    const kind =
      given?.kind ??
      (await pick(vscode.l10n.t('Which entries?'), { '': vscode.l10n.t('everything'), ...names(KINDS) }, this.filter.kind));
    if (kind === undefined) return;
    const since = given?.since ?? (await pick(vscode.l10n.t('Since when?'), SPANS, this.filter.since));
    if (since === undefined) return;
    this.filter = { kind, since };
    await this.refresh();
  }

  async open(entry: number): Promise<void> {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/Entry ${entry}.md`, query: String(entry) });
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), 'markdown');
    await vscode.window.showTextDocument(document, { preview: true });
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Looking at the view starts no server: who wants that refreshes it. */
  private follow(): void {
    if (this.view.visible && this.server.answers) void this.refresh().catch(() => undefined);
  }

  private page(number: string): string {
    const entry = this.result?.entries.find(one => String(one.number) === number);
    return entry
      ? readable(entry, this.question(packOf(entry)))
      : vscode.l10n.t('This entry is not in the list any more. Refresh the Audit view.');
  }

  private question(packId: string): string | undefined {
    return packId ? this.receipts.all.find(({ pack }) => pack.id === packId)?.question.text : undefined;
  }
}

export function auditCommands(view: AuditView): Record<string, (...args: never[]) => unknown> {
  return {
    'carrel.audit.refresh': () => view.refresh(),
    'carrel.audit.filter': (filter?: Filter) => view.choose(filter),
    'carrel.audit.open': (entry: number) => view.open(entry),
  };
}

function packOf({ details }: AuditEntry): string {
  return typeof details.id === 'string' ? details.id : '';
}

function names(kinds: typeof KINDS): Record<string, string> {
  return Object.fromEntries(Object.entries(kinds).map(([kind, { filter }]) => [kind, filter]));
}

async function pick(title: string, choices: Readonly<Record<string, string>>, now: string): Promise<string | undefined> {
  const items = Object.entries(choices).map(([value, label]) => ({
    label: label.charAt(0).toUpperCase() + label.slice(1),
    description: value === now ? vscode.l10n.t('shown now') : '',
    value,
  }));
  return (await vscode.window.showQuickPick(items, { title: `Carrel: ${title}` }))?.value;
}

/** Commands that put the project's pages where a person wants them. */

import { posix } from 'node:path';
import * as vscode from 'vscode';
import { onlyFolder, type ContextClient } from '../context_client';
import { count } from '../memory/labels';
import type { Memory } from '../memory/memory';
import type { ContextResult, HitResult } from '../protocol';
import { localFolders } from '../memory/memory';
import { firstLine, lines } from '../receipts/nodes';
import type { Question } from '../receipts/receipts';
import { openPlace } from '../receipts/view';
import type { Supervisor } from '../server/supervisor';
import { attach } from './chat_context';

/** Typing rests so long before the server is asked. */
const REST_MS = 150;

export function searchCommands(
  server: Supervisor,
  contextClient: ContextClient,
  memory: Memory,
): Record<string, (...args: never[]) => unknown> {
  const forAnyChat: Ask = (question, token) => contextClient.context(question, {}, token);
  const forThisChat: Ask = (question, token) => contextClient.preview(question, token);
  return {
    'carrel.copyContext': async (text?: string) => {
      const pack = await contextFor(forAnyChat, memory, text);
      if (!pack) return undefined;
      await vscode.env.clipboard.writeText(`${pack.text}\n\n${pack.query}`);
      void vscode.window.setStatusBarMessage(
        vscode.l10n.t('Carrel: {0} and the question copied', count(pack.hits.length, 'place')),
        5_000,
      );
      return pack;
    },
    'carrel.previewContext': async (text?: string) => {
      const pack = await contextFor(forThisChat, memory, text);
      if (pack) await vscode.commands.executeCommand('carrel.receipt.show', pack.id);
      return pack;
    },
    'carrel.insertContext': async (text?: string) => {
      const pack = await contextFor(forThisChat, memory, text);
      if (pack) await attach(pack);
      return pack;
    },
    'carrel.searchProject': () => search(server, memory),
  };
}

type Ask = (question: Question, token: vscode.CancellationToken) => Promise<ContextResult>;

async function contextFor(ask: Ask, memory: Memory, given: string | undefined): Promise<ContextResult | undefined> {
  const editor = vscode.window.activeTextEditor;
  const value = editor?.document.getText(editor.selection) ?? '';
  const text =
    given ??
    (await vscode.window.showInputBox({
      title: vscode.l10n.t('Carrel: context for which question?'),
      value: value.includes('\n') ? '' : value,
    }));
  if (!text?.trim()) return undefined;
  if (!localFolders().length) throw new Error(vscode.l10n.t('open a folder first.'));
  const title = memory.hasIndex
    ? vscode.l10n.t('Carrel: looking through the project')
    : vscode.l10n.t('Carrel: indexing the project for its first answer');
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (_, token) => {
      const pack = await ask({ text, from: 'command' }, token);
      if (pack.error && !pack.text) throw new Error(pack.error);
      if (!pack.hits.length) throw new Error(pack.error ?? vscode.l10n.t('nothing in the project fits this question.'));
      return pack;
    },
  );
}

/** A row that only says something. */
function note(label: string, description = ''): vscode.QuickPickItem {
  return { label, description, alwaysShow: true };
}

/** The line below a place: the commit that changed it last, where that was asked for and is known, else its first line. */
function detail({ lastChange, text }: HitResult): string {
  if (!lastChange) return firstLine(text);
  return `$(git-commit) ${lastChange.at.slice(0, 10)} ${lastChange.author}: ${lastChange.subject}`;
}

/** A list that follows what is typed. Order and choice are the server's: the list must not filter again. */
async function search(server: Supervisor, memory: Memory): Promise<void> {
  if (!localFolders().length) throw new Error(vscode.l10n.t('open a folder first.'));
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { hit?: HitResult }>();
  pick.title = vscode.l10n.t('Carrel: Search');
  pick.placeholder = vscode.l10n.t('Words, a question, or a name');
  pick.buttons = [{ iconPath: new vscode.ThemeIcon('git-commit'), tooltip: vscode.l10n.t('Show or Hide the Last Changes') }];
  let lastChange = false;
  const folder = onlyFolder();
  const where = folder ? { workspaceFolder: folder } : {};
  let timer: NodeJS.Timeout | undefined;
  let running: vscode.CancellationTokenSource | undefined;
  const look = async (query: string): Promise<void> => {
    running?.cancel();
    const source = (running = new vscode.CancellationTokenSource());
    if (!query.trim()) {
      pick.items = [];
      pick.busy = false;
      return;
    }
    pick.busy = true;
    try {
      if (!server.answers) pick.items = [note(`$(sync~spin) ${vscode.l10n.t('Carrel: starting')}`)];
      await memory.look();
      if (running !== source) return;
      if (!memory.hasIndex)
        pick.items = [
          note(
            `$(sync~spin) ${vscode.l10n.t('Indexing the project first')}`,
            vscode.l10n.t('the places come as soon as it is done'),
          ),
        ];
      const asked = { ...where, query, limit: 30, plan: 'never', lastChange, waitMs: memory.waitMs } as const;
      const { hits, state } = await server.request('carrel/search', asked, source.token);
      if (running !== source) return;
      const rows = hits.map(hit => ({
        label: hit.symbol ?? posix.basename(hit.path),
        description: `${hit.path}:${lines(hit)}`,
        detail: detail(hit),
        alwaysShow: true,
        hit,
      }));
      if (state === 'indexing')
        pick.items = [
          ...rows,
          note(`$(sync~spin) ${vscode.l10n.t('The project is being indexed')}`, vscode.l10n.t('places may be missing')),
        ];
      else pick.items = rows.length ? rows : [note(`$(circle-slash) ${vscode.l10n.t('Nothing in the project fits')}`)];
    } catch (error) {
      if (!source.token.isCancellationRequested) throw error;
    } finally {
      if (running === source) pick.busy = false;
    }
  };
  await new Promise<void>((resolve, reject) => {
    pick.onDidChangeValue(value => {
      clearTimeout(timer);
      timer = setTimeout(() => void look(value).catch(reject), REST_MS);
    });
    pick.onDidTriggerButton(() => {
      lastChange = !lastChange;
      void look(pick.value).catch(reject);
    });
    pick.onDidAccept(() => {
      const hit = pick.selectedItems[0]?.hit;
      if (hit) void openPlace(hit.uri, hit.startLine, hit.endLine);
      pick.hide();
    });
    pick.onDidHide(() => resolve());
    pick.show();
  }).finally(() => {
    clearTimeout(timer);
    running?.cancel();
    pick.dispose();
  });
}

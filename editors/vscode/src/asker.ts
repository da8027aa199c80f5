/** Every question to the project goes through here: it adds what the editor knows, and keeps the receipt. */

import * as vscode from 'vscode';
import { localFolders, type Memory } from './memory/memory';
import type { AugmentResult, ContextParams, ContextResult, FiltersParam, HistoryTurn } from './protocol';
import { literalGlob, type Question, type Receipts } from './receipts/receipts';
import type { Supervisor } from './server/supervisor';

/** How long a question waits for a first index; then the answer is what is there by then. */
const WAIT_MS = 30_000;

export interface Details {
  readonly format?: 'xml' | 'source' | 'tool';
  readonly topK?: number;
  readonly budget?: { readonly tokens: number };
  readonly model?: string;
  readonly history?: readonly HistoryTurn[];
  /** URIs of files that the person attached to this question. */
  readonly attached?: readonly string[];
  readonly filters?: FiltersParam;
}

export class Asker {
  constructor(
    private readonly server: Supervisor,
    private readonly receipts: Receipts,
    private readonly memory: Memory,
  ) {}

  /** The pages for a question. */
  async context(question: Question, details: Details = {}, token?: vscode.CancellationToken): Promise<ContextResult> {
    await this.memory.ensureIndexed();
    const pack = await this.server.request('carrel/context', this.params(question, details), token);
    this.receipts.add({ question, pack, at: new Date() });
    return pack;
  }

  /** The question with its pages in front. */
  async augment(question: Question, details: Details = {}, token?: vscode.CancellationToken): Promise<AugmentResult> {
    await this.memory.ensureIndexed();
    const result = await this.server.request('carrel/augment', { ...this.params(question, details), text: question.text }, token);
    this.receipts.add({ question, pack: result.pack, at: new Date() });
    return result;
  }

  private params(question: Question, details: Details): ContextParams {
    const { attached = [], ...given } = details;
    const active = activeEditor();
    const folder = currentFolder();
    return {
      ...given,
      query: question.text,
      trigger: 'explicit',
      waitMs: WAIT_MS,
      openUris: openUris(),
      pinned: [...new Set([...attached, ...this.receipts.pinned])],
      exclude: this.receipts.removed(question.text).map(literalGlob),
      ...(active ? { active } : {}),
      ...(folder ? { workspaceFolder: folder } : {}),
    };
  }
}

function activeEditor(): NonNullable<ContextParams['active']> | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== 'file') return undefined;
  const { start, end } = editor.selection;
  const selection = {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
  return { uri: editor.document.uri.toString(), ...(editor.selection.isEmpty ? {} : { selection }) };
}

function openUris(): string[] {
  const inputs = vscode.window.tabGroups.all.flatMap(group => group.tabs).map(tab => tab.input);
  const uris = inputs.flatMap(input =>
    input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri.toString()] : [],
  );
  return [...new Set(uris)];
}

/** The folder of the file in front, else the first. */
export function currentFolder(): string | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const found = uri?.scheme === 'file' ? vscode.workspace.getWorkspaceFolder(uri) : undefined;
  return (found ?? localFolders()[0])?.uri.toString();
}

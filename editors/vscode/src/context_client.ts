/** Every question to the project goes through here: it adds what the editor knows, and keeps the receipt. */

import * as vscode from 'vscode';
import { localFolders, type Memory } from './memory/memory';
import type { AugmentResult, ChatCitation, ContextParams, ContextResult } from './protocol';
import { isWholeFile, literalGlob, type Details, type Question, type Receipt, type Receipts } from './receipts/receipts';
import type { Supervisor } from './server/supervisor';

/** How long a question waits for a first index; then the answer is what is there by then. */
const WAIT_MS = 30_000;

export class ContextClient {
  constructor(
    private readonly server: Supervisor,
    private readonly receipts: Receipts,
    private readonly memory: Memory,
  ) {}

  /** The pages for a question. */
  async context(question: Question, details: Details = {}, token?: vscode.CancellationToken): Promise<ContextResult> {
    await this.memory.ensureIndexed();
    const params = this.params(question, details);
    const pack = await this.server.request('carrel/context', params, token);
    this.keep(question, details, params, pack);
    return pack;
  }

  /** The question with its pages in front. */
  async augment(question: Question, details: Details = {}, token?: vscode.CancellationToken): Promise<AugmentResult> {
    await this.memory.ensureIndexed();
    const params = this.params(question, details);
    const result = await this.server.request('carrel/augment', { ...params, text: question.text }, token);
    this.keep(question, details, params, result.pack);
    return result;
  }

  /** Whether the places hold that an answer cites; none where the server can't tell, which is no reason to fail. */
  async citations(pack: ContextResult, text: string, token?: vscode.CancellationToken): Promise<readonly ChatCitation[]> {
    if (!pack.hits.length) return [];
    try {
      return (await this.server.request('carrel/citations', { packId: pack.id, text }, token)).citations;
    } catch {
      return [];
    }
  }

  /** The same question, as it was asked and of the folder that was asked, with what was pinned and removed since. */
  repeat({ question, details, pack }: Receipt): Promise<ContextResult> {
    return this.context(question, { ...details, format: pack.format });
  }

  private keep(question: Question, details: Details, { workspaceFolder }: ContextParams, pack: ContextResult): void {
    const asked = workspaceFolder ? { ...details, workspaceFolder } : details;
    this.receipts.add({ question, details: asked, pack, at: new Date() });
  }

  private params(question: Question, details: Details): ContextParams {
    const { attached = [], ...given } = details;
    const folder = given.workspaceFolder ?? currentFolder();
    // What lies in another folder isn't in this folder's index: the answer would only say so.
    const here = (uri: string): boolean => folderOf(vscode.Uri.parse(uri, true)) === folder;
    const active = activeEditor();
    const removed = this.receipts.removed(question.text).filter(({ uri }) => here(uri));
    return {
      ...given,
      query: question.text,
      trigger: 'explicit',
      waitMs: WAIT_MS,
      openUris: openUris().filter(here),
      pinned: [...new Set([...attached, ...this.receipts.pinned.filter(here)])],
      exclude: removed.filter(isWholeFile).map(({ path }) => literalGlob(path)),
      excludeLines: removed
        .filter(place => !isWholeFile(place))
        .map(({ uri, startLine, endLine }) => ({ uri, startLine, endLine })),
      ...(active && here(active.uri) ? { active } : {}),
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
  return (uri && folderOf(uri)) ?? localFolders()[0]?.uri.toString();
}

function folderOf(uri: vscode.Uri): string | undefined {
  return uri.scheme === 'file' ? vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() : undefined;
}

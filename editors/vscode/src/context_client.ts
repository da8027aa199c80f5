/** Every question to the project goes through here: it adds what the editor knows, and keeps the receipt. */

import { posix } from 'node:path';
import * as vscode from 'vscode';
import { inEditor } from './memory/labels';
import { localFolders, type Memory } from './memory/memory';
import type { AugmentResult, ChatCitation, ContextParams, ContextResult } from './protocol';
import {
  isWholeFile,
  literal,
  literalGlob,
  type Details,
  type Outcome,
  type Question,
  type Receipt,
  type Receipts,
} from './receipts/receipts';
import type { Lent } from './server/connection';
import { growsTo } from './settings';
import type { Supervisor } from './server/supervisor';

/** What has become of a question when its pages are there. */
const BEFORE: Record<Question['from'], Outcome> = { chat: 'waiting', agent: 'given', command: 'found', review: 'sent' };

/** The default budget where no window is known for it to grow with: in tokens, as everything else is told then. */
const WITHOUT_MODEL = { tokens: 1_000 };

export class ContextClient {
  private lastModel: Pick<Details, 'model' | 'window'> = {};

  constructor(
    private readonly server: Supervisor,
    private readonly receipts: Receipts,
    private readonly memory: Memory,
  ) {}

  /** The pages for a question. */
  async context(question: Question, details: Details = {}, token?: vscode.CancellationToken): Promise<ContextResult> {
    const params = await this.prepare(question, details);
    const pack = advised(await this.server.request('carrel/context', params, token));
    this.keep(question, details, params, pack, question.from === 'chat' ? 'found' : BEFORE[question.from]);
    return pack;
  }

  /**
   * The question with its pages in front. `lent` is a model that helps where the search is unsure; `instead` is the pack that the
   * person has just changed: one question has one receipt.
   */
  async augment(
    question: Question,
    details: Details = {},
    token?: vscode.CancellationToken,
    { lent, instead }: { readonly lent?: Lent; readonly instead?: string } = {},
  ): Promise<AugmentResult> {
    const { model, window } = details;
    if (model && window) this.lastModel = { model, window };
    const params = await this.prepare(question, details);
    const asked = { ...params, text: question.text };
    const found = await (lent ? this.server.augment(asked, lent, token) : this.server.request('carrel/augment', asked, token));
    const result = { ...found, pack: advised(found.pack) };
    this.keep(question, details, params, result.pack, BEFORE[question.from], instead);
    return result;
  }

  /** What the server is asked for a question: its words, and what the editor knows. */
  async prepare(question: Question, details: Details): Promise<ContextParams> {
    await this.memory.look();
    return this.params(question, details);
  }

  /** Keep the receipt of an answer, in place of that of the pack `instead`. */
  keep(
    question: Question,
    details: Details,
    { workspaceFolder, active }: ContextParams,
    pack: ContextResult,
    outcome: Outcome,
    instead?: string,
  ): void {
    const asked = workspaceFolder ? { ...details, workspaceFolder } : details;
    const inFront = active ? { inFront: active.uri } : {};
    this.receipts.add({ question, details: asked, pack, outcome, at: new Date(), ...inFront }, instead);
  }

  /** What `@carrel` would send, to the model that it was asked with last. */
  preview(question: Question, token?: vscode.CancellationToken): Promise<ContextResult> {
    return this.context(question, this.lastModel, token);
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
    return this.context({ ...question, from: 'command' }, { ...details, format: pack.format });
  }

  private params(question: Question, details: Details): ContextParams {
    const { files = [], places = [], within = [], ...given } = details;
    const folder = given.workspaceFolder ?? onlyFolder() ?? attachedFolder(details);
    const globs = within.includes(folder ?? '') ? [] : within.map(uri => this.globBelow(vscode.Uri.parse(uri, true), !!folder));
    // What lies in no folder that is asked isn't in its index: the answer would only say so.
    const here = (uri: string): boolean => {
      const its = folderOf(vscode.Uri.parse(uri, true));
      return folder ? its === folder : its !== undefined;
    };
    const active = activeEditor(question);
    const set = growsTo() === undefined;
    const removed = this.receipts.removed(question.text).filter(({ uri }) => here(uri));
    return {
      ...given,
      query: question.query ?? question.text,
      trigger: 'explicit',
      waitMs: this.memory.waitMs,
      openUris: openUris().filter(here),
      pinned: [...new Set([...files, ...this.receipts.pinned.filter(here)])],
      attached: places,
      exclude: removed.filter(isWholeFile).map(({ uri }) => literalGlob(this.pathOf(vscode.Uri.parse(uri, true), !!folder))),
      excludeLines: removed
        .filter(place => !isWholeFile(place))
        .map(({ uri, startLine, endLine }) => ({ uri, startLine, endLine })),
      ...(active && here(active.uri) ? { active } : {}),
      ...(folder ? { workspaceFolder: folder } : {}),
      ...(globs.length ? { filters: { ...given.filters, pathGlob: globs } } : {}),
      ...(set || given.budget || given.window ? {} : { budget: WITHOUT_MODEL }),
    };
  }

  /** All files below a folder, as one folder of the window has them, or all together. */
  private globBelow(uri: vscode.Uri, alone: boolean): string {
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    const inside = folder ? posix.relative(folder.uri.path, uri.path) : uri.path;
    return [alone || !folder ? '' : literal(this.memory.nameOf(folder)), literal(inside), '**'].filter(Boolean).join('/');
  }

  /** The path of a file as answers have it: of several folders it begins with what the server calls one. */
  pathOf(uri: vscode.Uri, alone = !!onlyFolder()): string {
    const folder = alone ? undefined : vscode.workspace.getWorkspaceFolder(uri);
    return [...(folder ? [this.memory.nameOf(folder)] : []), vscode.workspace.asRelativePath(uri, false)].join('/');
  }
}

function advised(pack: ContextResult): ContextResult {
  return pack.error ? { ...pack, error: inEditor(pack.error) } : pack;
}

/** The file in front, and what is selected in it: an agent says itself what it looks for, so it gets no selection. */
function activeEditor({ from }: Question): NonNullable<ContextParams['active']> | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== 'file') return undefined;
  const selection = from === 'agent' ? undefined : activeSelection()?.range;
  if (!selection) return { uri: uri.toString() };
  const { start, end } = selection;
  const range = {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
  return { uri: uri.toString(), selection: range };
}

/** What is selected in the file in front. */
export function activeSelection(): vscode.Location | undefined {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) return undefined;
  return new vscode.Location(editor.document.uri, new vscode.Range(editor.selection.start, editor.selection.end));
}

function openUris(): string[] {
  const inputs = vscode.window.tabGroups.all.flatMap(group => group.tabs).map(tab => tab.input);
  const uris = inputs.flatMap(input =>
    input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri.toString()] : [],
  );
  return [...new Set(uris)];
}

/** The one folder of the window that all that a person attached lies in, where there is one: it says where to look. */
export function attachedFolder({ files = [], places = [], within = [] }: Details): string | undefined {
  const uris = [...files, ...places.map(({ uri }) => uri), ...within];
  const [first, ...others] = new Set(uris.map(uri => folderOf(vscode.Uri.parse(uri, true))));
  return others.length ? undefined : first;
}

/** The only folder; undefined where there are several, which are asked as one. */
export function onlyFolder(): string | undefined {
  const [first, ...others] = localFolders();
  return others.length ? undefined : first?.uri.toString();
}

/** The folder of the file in front, else the first. */
export function currentFolder(): string | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return (uri && folderOf(uri)) ?? localFolders()[0]?.uri.toString();
}

function folderOf(uri: vscode.Uri): string | undefined {
  return uri.scheme === 'file' ? vscode.workspace.getWorkspaceFolder(uri)?.uri.toString() : undefined;
}

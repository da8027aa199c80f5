/** What was asked lately and what came of it, and what people changed about it: pins and removals. */

import type { ContextParams, ContextResult, LinesParam } from '../protocol';
import { restored, stored } from './stored';

/** A question as it was asked, so that it can be asked again. */
export interface Question {
  readonly text: string;
  /** The words to search for, where those of the question don't say them. */
  readonly query?: string;
  readonly from: 'chat' | 'agent' | 'command' | 'review';
}

/** How a question was asked, beside its words and what the editor adds. */
export type Details = Pick<
  ContextParams,
  'format' | 'topK' | 'budget' | 'model' | 'window' | 'history' | 'filters' | 'workspaceFolder'
> & {
  /** URIs of files that the person attached to this question. */
  readonly files?: readonly string[];
  /** Lines that they attached. */
  readonly places?: readonly LinesParam[];
  /** URIs of folders that they attached: only what lies below them is searched. */
  readonly within?: readonly string[];
};

/** What became of a question: `waiting` until it is sent, `given` to an agent, `found` for the person alone. */
export type Outcome = 'waiting' | 'sent' | 'notSent' | 'cancelled' | 'failed' | 'given' | 'found';

export interface Receipt {
  readonly question: Question;
  readonly details: Details;
  readonly pack: ContextResult;
  readonly outcome: Outcome;
  readonly at: Date;
  /** URI of the file that was in front. */
  readonly inFront?: string;
}

/** Lines of a file, 1-based and inclusive. */
export interface Place {
  readonly uri: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}

const LAST_LINE = Number.MAX_SAFE_INTEGER;

export function wholeFile({ uri, path }: Pick<Place, 'uri' | 'path'>): Place {
  return { uri, path, startLine: 1, endLine: LAST_LINE };
}

export function isWholeFile(place: Place): boolean {
  return place.endLine === LAST_LINE;
}

export function overlap(one: Place, other: Place): boolean {
  return one.uri === other.uri && one.startLine <= other.endLine && other.startLine <= one.endLine;
}

/** Where receipts and pins outlive the window. */
export interface ReceiptStorage {
  get(key: string): unknown;
  update(key: string, value: unknown): unknown;
}

const KEPT = 20;
const PINNED = 'carrel.pinned';
const RECEIPTS = 'carrel.receipts';

export class Receipts {
  private readonly receipts: Receipt[];
  private readonly removedFor = new Map<string, readonly Place[]>();
  private shownId: string | undefined;
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly storage: ReceiptStorage) {
    this.receipts = restored(storage.get(RECEIPTS));
  }

  onDidChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Newest first. */
  get all(): readonly Receipt[] {
    return this.receipts;
  }

  /** The one in the view. */
  get shown(): Receipt | undefined {
    return this.receipts.find(({ pack }) => pack.id === this.shownId) ?? this.receipts[0];
  }

  /** `instead` is the pack of the same question whose place it takes. */
  add(receipt: Receipt, instead?: string): void {
    const others = this.receipts.filter(({ pack }) => pack.id !== instead);
    this.receipts.splice(0, this.receipts.length, ...[receipt, ...others].slice(0, KEPT));
    this.store();
    this.show(receipt.pack.id);
  }

  /** Note what became of a question. */
  become(packId: string, outcome: Outcome): void {
    const at = this.receipts.findIndex(({ pack }) => pack.id === packId);
    const receipt = this.receipts[at];
    if (!receipt) return;
    this.receipts[at] = { ...receipt, outcome };
    this.store();
    this.changed();
  }

  show(packId: string): void {
    this.shownId = packId;
    this.changed();
  }

  /** URIs of files that every context should hold. */
  get pinned(): readonly string[] {
    return (this.storage.get(PINNED) as readonly string[] | undefined) ?? [];
  }

  async pin(uri: string, on: boolean): Promise<void> {
    const others = this.pinned.filter(one => one !== uri);
    await this.storage.update(PINNED, on ? [...others, uri] : others);
    this.changed();
  }

  /** What a person took out of the answers to one question. */
  removed(question: string): readonly Place[] {
    return this.removedFor.get(question) ?? [];
  }

  remove(question: string, place: Place): void {
    const { uri, path, startLine, endLine } = place;
    this.removedFor.set(question, [...this.removed(question), { uri, path, startLine, endLine }]);
    this.changed();
  }

  /** Allow every removed place again that has a line of this one. */
  restore(question: string, place: Place): void {
    this.removedFor.set(
      question,
      this.removed(question).filter(one => !overlap(one, place)),
    );
    this.changed();
  }

  private store(): void {
    void this.storage.update(RECEIPTS, this.receipts.map(stored));
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

/** A glob that means this one path: nothing in it is special, and it stands at the folder's root. */
export function literalGlob(path: string): string {
  const name = literal(path);
  // The server takes a pattern without a slash as a name that may be anywhere.
  return path.includes('/') ? name : `{${name},${name}/}`;
}

/** Nothing in it is special. */
export function literal(path: string): string {
  return path.replace(/[[\]{}*?,\\]/g, '[$&]');
}

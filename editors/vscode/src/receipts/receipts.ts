/** What was asked lately and what came of it, and what people changed about it: pins and removals. */

import type { ContextResult } from '../protocol';

/** A question as it was asked, so that it can be asked again. */
export interface Question {
  readonly text: string;
  readonly from: 'chat' | 'tool' | 'command';
}

export interface Receipt {
  readonly question: Question;
  readonly pack: ContextResult;
  readonly at: Date;
}

/** Where pins outlive the window. */
export interface Shelf {
  get(key: string): readonly string[] | undefined;
  update(key: string, value: readonly string[]): unknown;
}

const KEPT = 20;
const PINNED = 'carrel.pinned';

export class Receipts {
  private readonly receipts: Receipt[] = [];
  private readonly removedFor = new Map<string, Set<string>>();
  private shownId: string | undefined;
  private readonly listeners: (() => void)[] = [];

  constructor(private readonly shelf: Shelf) {}

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

  add(receipt: Receipt): void {
    this.receipts.unshift(receipt);
    this.receipts.length = Math.min(this.receipts.length, KEPT);
    this.show(receipt.pack.id);
  }

  show(packId: string): void {
    this.shownId = packId;
    this.changed();
  }

  /** URIs of files that every context should hold. */
  get pinned(): readonly string[] {
    return this.shelf.get(PINNED) ?? [];
  }

  async pin(uri: string, on: boolean): Promise<void> {
    const others = this.pinned.filter(one => one !== uri);
    await this.shelf.update(PINNED, on ? [...others, uri] : others);
    this.changed();
  }

  /** Paths that a person took out of the answers to one question. */
  removed(question: string): readonly string[] {
    return [...(this.removedFor.get(question) ?? [])];
  }

  remove(question: string, path: string, off: boolean): void {
    const paths = this.removedFor.get(question) ?? new Set();
    if (off) paths.add(path);
    else paths.delete(path);
    this.removedFor.set(question, paths);
    this.changed();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

/** A glob that means this one path: nothing in it is special, and it stands at the folder's root. */
export function literalGlob(path: string): string {
  const literal = path.replace(/[[\]{}*?]/g, '[$&]');
  // The server takes a pattern without a slash as a name that may be anywhere.
  return path.includes('/') ? literal : `{${literal},${literal}/}`;
}

/** `src/auth.py:12-20` in an answer becomes a link, if it names a place that the answer was given. */

import { l10n } from 'vscode';

export interface Citable {
  readonly path: string;
  readonly uri: string;
}

/** A citation that the server checked. */
export interface Checked {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly ok: boolean;
  readonly reason?: string;
}

export type Piece = { readonly text: string } | { readonly uri: string; readonly startLine: number; readonly endLine: number };

/** What is said of the places that an answer cites and can't rely on; nothing where all hold. */
export function unsupported(citations: readonly Checked[]): string | undefined {
  const bad = citations.filter(({ ok }) => !ok);
  if (!bad.length) return undefined;
  const lines = bad.map(({ path, startLine, endLine, reason }) => {
    const place = startLine === endLine ? `${path}:${startLine}` : `${path}:${startLine}-${endLine}`;
    // A path in an answer is the model's: it must not become markup.
    return `> - \`${place.replace(/[`\r\n]/g, ' ')}\`: ${(reason ?? l10n.t('not given')).replace(/[`<>[\]\r\n]/g, ' ')}`;
  });
  return ['', '', `> ${l10n.t('**Unverified.** Look at these places before you rely on the answer:')}`, ...lines, ''].join('\n');
}

/** A place may come in two fragments of a stream, so what could be the beginning of one is held back. */
export class CitationStream {
  private held = '';
  private readonly place: RegExp | undefined;
  private readonly unfinished: RegExp;
  private readonly uris: ReadonlyMap<string, string>;

  constructor(places: readonly Citable[]) {
    this.uris = new Map(places.map(({ path, uri }) => [path, uri]));
    const paths = [...this.uris.keys()].sort((a, b) => b.length - a.length);
    const literal = paths.map(path => path.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.place = paths.length
      ? new RegExp(`\`?(?<![\\w/.-])(${literal.join('|')}):L?(\\d+)(?:[-–]L?(\\d+))?\`?`, 'g')
      : undefined;
    this.unfinished = paths.some(path => path.includes(' ')) ? /[^\n]+$/ : /\S+$/;
  }

  push(fragment: string): Piece[] {
    const text = this.held + fragment;
    const end = this.unfinished.exec(text)?.index ?? text.length;
    this.held = text.slice(end);
    return this.pieces(text.slice(0, end));
  }

  end(): Piece[] {
    const rest = this.held;
    this.held = '';
    return this.pieces(rest);
  }

  private pieces(text: string): Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    for (const match of this.place ? text.matchAll(this.place) : []) {
      const [whole, path = '', first, last] = match;
      if (match.index > from) pieces.push({ text: text.slice(from, match.index) });
      pieces.push({ uri: this.uris.get(path) ?? '', startLine: Number(first), endLine: Number(last ?? first) });
      from = match.index + whole.length;
    }
    if (from < text.length) pieces.push({ text: text.slice(from) });
    return pieces;
  }
}

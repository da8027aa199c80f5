/** Places of files in an answer, and in words. */

import * as vscode from 'vscode';
import type { LinesParam } from '../protocol';
import { lines } from '../receipts/nodes';
import { shortNames } from '../receipts/why';
import type { Piece } from './citations';

export function location(uri: string, startLine: number, endLine: number): vscode.Location {
  return new vscode.Location(
    vscode.Uri.parse(uri, true),
    new vscode.Range(startLine - 1, 0, Math.max(startLine, endLine) - 1, Number.MAX_SAFE_INTEGER),
  );
}

/** `names` are titles by URI for places whose file's name alone would say too little. */
export function write(pieces: readonly Piece[], stream: vscode.ChatResponseStream, names?: ReadonlyMap<string, string>): void {
  for (const piece of pieces) {
    if ('text' in piece) stream.markdown(piece.text);
    else {
      const name = names?.get(piece.uri);
      stream.anchor(location(piece.uri, piece.startLine, piece.endLine), ...(name ? [`${name}:${lines(piece)}`] : []));
    }
  }
}

/** Names with folders, by URI, for files of which another one has the same name. */
export function chipNames(places: readonly { readonly uri: string; readonly path: string }[]): ReadonlyMap<string, string> {
  const names = shortNames(places.map(({ path }) => path));
  return new Map(
    places.flatMap(({ uri, path }) => {
      const name = names.get(path) ?? path;
      return name.includes('/') ? [[uri, name] as const] : [];
    }),
  );
}

/** Whole lines of a range; whoever selects whole lines ends at the beginning of the next one. */
export function linesOf({ uri, range }: vscode.Location): LinesParam {
  const { start, end } = range;
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  return { uri: uri.toString(), startLine: start.line + 1, endLine: last + 1 };
}

/** A file, or lines of one, as a model cites it. */
export function placeText(place: vscode.Uri | vscode.Location): string {
  if (place instanceof vscode.Uri) return vscode.workspace.asRelativePath(place, false);
  return `${vscode.workspace.asRelativePath(place.uri, false)}:${lines(linesOf(place))}`;
}

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

/** `folders` are those of `foldersOf`. */
export function write(pieces: readonly Piece[], stream: vscode.ChatResponseStream, folders: ReadonlyMap<string, string>): void {
  for (const piece of pieces) {
    if ('text' in piece) stream.markdown(piece.text);
    else link(piece, stream, folders);
  }
}

/** A link to lines. The editor shows the file's name and the lines, whatever title it is given. */
export function link(
  { uri, startLine, endLine }: LinesParam,
  stream: vscode.ChatResponseStream,
  folders: ReadonlyMap<string, string>,
): void {
  const folder = folders.get(uri);
  if (folder) stream.markdown(`\`${folder}\` `);
  stream.anchor(location(uri, startLine, endLine));
}

/** By URI, the folder of each file of which another one has the same name; it begins with the workspace's where several were asked. */
export function foldersOf(
  places: readonly { readonly uri: string; readonly path: string; readonly folder?: string }[],
): ReadonlyMap<string, string> {
  const names = shortNames(places.map(({ path }) => path));
  return new Map(
    places.flatMap(({ uri, path, folder: root }) => {
      const name = names.get(path) ?? path;
      const inner = name.slice(0, name.lastIndexOf('/') + 1);
      const top = root && name !== path ? path.slice(0, path.indexOf('/') + 1) : '';
      const folder = top && inner && top + name !== path ? `${top}…/${inner}` : top + inner;
      return folder ? [[uri, folder] as const] : [];
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
export function placeText(place: vscode.Uri | vscode.Location, pathOf: (uri: vscode.Uri) => string): string {
  if (place instanceof vscode.Uri) return pathOf(place);
  return `${pathOf(place.uri)}:${lines(linesOf(place))}`;
}

/** Places of files in an answer. */

import * as vscode from 'vscode';
import type { Piece } from './citations';

export function location(uri: string, startLine: number, endLine: number): vscode.Location {
  return new vscode.Location(
    vscode.Uri.parse(uri, true),
    new vscode.Range(startLine - 1, 0, Math.max(startLine, endLine) - 1, Number.MAX_SAFE_INTEGER),
  );
}

export function write(pieces: readonly Piece[], stream: vscode.ChatResponseStream): void {
  for (const piece of pieces) {
    if ('text' in piece) stream.markdown(piece.text);
    else stream.anchor(location(piece.uri, piece.startLine, piece.endLine));
  }
}

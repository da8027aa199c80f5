/** Places of the same file as one. Pure: tested without an editor. */

export interface Lines {
  readonly uri: string;
  readonly startLine: number;
  readonly endLine: number;
}

/** Places in the order of the context; those of a file that meet or overlap are one attachment. */
export function merged(places: readonly Lines[]): readonly Lines[] {
  const joined: Lines[] = [];
  for (const place of places) {
    let whole = place;
    for (let index = joined.length - 1; index >= 0; index -= 1) {
      const other = joined[index];
      if (!other || other.uri !== whole.uri || other.startLine > whole.endLine + 1 || whole.startLine > other.endLine + 1)
        continue;
      whole = {
        uri: whole.uri,
        startLine: Math.min(whole.startLine, other.startLine),
        endLine: Math.max(whole.endLine, other.endLine),
      };
      joined.splice(index, 1);
    }
    joined.push(whole);
  }
  return joined;
}

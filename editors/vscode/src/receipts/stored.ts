/** Receipts as they outlive the window: questions, places and numbers, but no text of files. Pure: tested without an editor. */

import type { ContextResult, HitResult } from '../protocol';
import type { Receipt } from './receipts';

/** What is kept of an answer and of a place in it. All else may hold text of files, as a name or a commit's message does. */
const OF_PACK = [
  ...(['id', 'format', 'tokens', 'budgetTokens', 'budgetChars', 'tokenizer', 'dropped', 'state', 'pending', 'error'] as const),
  ...(['confidence', 'elapsedMs', 'stages', 'routes', 'notSearched', 'sent', 'missingFolders'] as const),
] satisfies readonly (keyof ContextResult)[];
const OF_HIT = [
  ...(['id', 'uri', 'path', 'folder', 'startLine', 'endLine', 'range', 'kind', 'language', 'score', 'signals'] as const),
  ...(['updatedAt', 'source', 'sourceId', 'notLocal', 'masked', 'attached'] as const),
] satisfies readonly (keyof HitResult)[];

/** A receipt in a form that JSON keeps. */
export function stored({ question, details, pack, outcome, at, inFront }: Receipt): object {
  const asked = { ...details, history: undefined }; // it has what the model said before
  const hits = pack.hits.map(hit => ({ ...picked(hit, OF_HIT), text: '', definitions: [], imports: [], contentHash: '' }));
  return {
    question: { text: question.text, from: question.from }, // the words to search for may be selected code
    details: asked,
    pack: { ...picked(pack, OF_PACK), text: '', query: question.text, hits },
    outcome,
    at: at.toISOString(),
    ...(inFront ? { inFront } : {}),
  };
}

/** The receipts that were kept; none where another version kept them in another form. A question that was not sent by then never will be. */
export function restored(kept: unknown): Receipt[] {
  if (!Array.isArray(kept)) return [];
  return (kept as (Receipt | null)[]).flatMap(one => {
    const { question, details, pack } = (one ?? {}) as Partial<Receipt>;
    if (!one || !question?.text || !details || !pack?.id || !Array.isArray(pack.hits)) return [];
    return [{ ...one, at: new Date(one.at), outcome: one.outcome === 'waiting' ? 'cancelled' : one.outcome }];
  });
}

function picked<T extends object>(from: T, keys: readonly (keyof T)[]): object {
  return Object.fromEntries(keys.map(key => [key, from[key]])); // what is undefined isn't written
}

/** What `/review` gave to the model, as the receipt shows every answer's places. */

import { randomUUID } from 'node:crypto';
import type { ContextResult, HitResult, ReviewPlace, ReviewResult } from '../protocol';

const NOWHERE = { line: 0, character: 0 };

/** `result` is missing where the review didn't end. */
export function reviewPack(query: string, places: readonly ReviewPlace[], result?: ReviewResult): ContextResult {
  return {
    id: randomUUID(),
    text: '',
    format: 'tool',
    tokens: result?.largestRequest ?? 0,
    tokenizer: result?.tokenizer ?? '',
    hits: places.map(hit),
    dropped: [],
    query,
    state: result?.state ?? 'ready',
    pending: result?.pending ?? 0,
    elapsedMs: result?.elapsedMs ?? 0,
    stages: {},
  };
}

function hit(place: ReviewPlace): HitResult {
  return {
    ...place,
    id: `${place.uri}:${place.startLine}-${place.endLine}`,
    range: { start: NOWHERE, end: NOWHERE },
    kind: '',
    language: '',
    signals: { fused: 0, matched: [], boosts: [] },
    text: '',
    definitions: [],
    imports: [],
    contentHash: '',
    updatedAt: '',
    source: 'code',
    masked: 0,
    attached: false,
  };
}

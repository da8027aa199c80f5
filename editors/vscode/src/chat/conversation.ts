/** What was said before, as the model gets it: in the words of the person and of the model, without Carrel's own. */

import type { HistoryTurn } from '../protocol';

/** What one turn leaves for those after it. The editor keeps it beside the answer, with the chat. */
export interface Exchange {
  /** What the person asked; empty where nothing was asked of a model, so that nothing of the turn goes on. */
  asked: string;
  /** The answer in the model's own words, or the places that Carrel listed, as path:first-last. */
  said: string;
}

/** The earlier turns, oldest first, in at most so many characters: none is cut, the oldest are left out first. */
export function conversation(exchanges: readonly Exchange[], room: number): HistoryTurn[] {
  const kept: HistoryTurn[] = [];
  let left = room;
  for (const { asked, said } of [...exchanges].reverse()) {
    if (!asked.trim()) continue;
    const turns = [{ role: 'user', content: asked }, ...(said.trim() ? [{ role: 'assistant', content: said }] : [])];
    left -= asked.length + said.length;
    if (left < 0) break;
    kept.unshift(...turns);
  }
  return kept;
}

/** A question with the places that belong to it, in words: a model can't see a link or a chip. */
export function withPlaces(text: string, label: string, places: readonly string[]): string {
  const missing = [...new Set(places)].filter(place => !text.includes(place));
  return missing.length ? `${text}\n\n(${label}: ${missing.join(', ')})` : text;
}

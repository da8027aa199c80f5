/** Why a place was chosen, in words; and its score as a sum. */

import { count } from '../memory/labels';
import type { HitResult } from '../protocol';

/** What the sentence can name beside the place itself. */
export interface Surroundings {
  /** URI of the file that was in front. */
  readonly inFront?: string | undefined;
  readonly pinned?: readonly string[];
}

const MOST_NAMES = 3;
const MOST_WORDS = 4;

/** One sentence: what it defines, which words it holds, how it is tied to the file in front. */
export function why(hit: HitResult, { inFront, pinned = [] }: Surroundings = {}): string {
  if (hit.attached) return 'You selected or attached these lines.';
  const { matched } = hit.signals;
  const did = (rule: string): boolean => shareOf(hit, rule) > 0;
  const factor = (rule: string): number => hit.signals.boosts.find(boost => boost.rule === rule)?.factor ?? 1;
  const front = fileName(inFront ?? '');
  const defined = [...new Set(hit.definitions.length ? hit.definitions : hit.symbol ? [hit.symbol] : [])];
  const parts = [
    pinned.includes(hit.uri) ? 'is pinned by you' : '',
    did('verbatim') ? 'holds your words in your order' : '',
    defined.length ? `${hit.source === 'docs' ? 'is headed' : 'defines'} ${listed(defined, MOST_NAMES, 'name')}` : '',
    matched.length
      ? `holds ${listed(
          matched.map(word => `“${word}”`),
          MOST_WORDS,
          'word',
        )}`
      : '',
    !matched.length && did('meaning') ? 'is close to the question in meaning' : '',
    hit.uri === inFront ? 'is in the file in front of you' : '',
    hit.uri !== inFront && front && factor('tied') > 1.02 ? `uses or is used by ${front}, the file in front of you` : '',
  ].filter(Boolean);
  if (!parts.length)
    return shareOf(hit, 'combined') ? 'Fits several parts of the question.' : 'Fits the question best by all signs together.';
  const sentence = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}` : (parts[0] ?? '');
  return `${sentence[0]?.toUpperCase() ?? ''}${sentence.slice(1)}.`;
}

function listed(names: readonly string[], most: number, singular: string): string {
  const shown = names.slice(0, most).join(', ');
  return names.length > most ? `${shown} and ${count(names.length - most, `more ${singular}`)}` : shown;
}

function shareOf({ signals }: HitResult, rule: string): number {
  return signals.contributions?.find(one => one.rule === rule)?.share ?? 0;
}

const RULES: Readonly<Record<string, string>> = {
  words: 'words of the question',
  meaning: 'close in meaning',
  coverage: 'holds many of the words',
  whole_file: 'the file as a whole is about it',
  path_match: 'the file is called like it',
  in_scope: 'lies in the part that is named',
  substance: 'length of the place and its file',
  name_match: 'defines what the question names',
  verbatim: 'holds its words in their order',
  path_penalty: 'tests, documents, data and the like step back',
  in_view: 'open in the editor',
  nearby: 'near the file in front',
  tied: 'tied to the file in front',
  combined: 'several searches together',
};

/** The score as a sum: [signed share, in words] for each rule. */
export function sum({ signals }: HitResult): (readonly [string, string])[] {
  return (signals.contributions ?? []).map(({ rule, share }) => [signed(share), RULES[rule] ?? rule] as const);
}

function signed(share: number): string {
  return `${share < 0 ? '−' : '+'}${Math.abs(share).toFixed(2)}`;
}

/** The last part of a path or a URI. */
export function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** For each path a name that tells it from the others: the file's, with folders where names repeat. */
export function shortNames(paths: readonly string[]): ReadonlyMap<string, string> {
  const all = [...new Set(paths)];
  const tail = (path: string, parts: number): string => path.split('/').slice(-parts).join('/');
  return new Map(
    all.map(path => {
      const depth = path.split('/').length;
      let parts = 1;
      while (parts < depth && all.some(other => other !== path && tail(other, parts) === tail(path, parts))) parts += 1;
      return [path, tail(path, parts)];
    }),
  );
}

/** Why a place was chosen, in words; and its score as a sum. */

import { l10n } from 'vscode';
import { count, joined, numeral } from '../memory/labels';
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
  if (hit.attached) return l10n.t('You selected or attached these lines.');
  const { matched } = hit.signals;
  const did = (rule: string): boolean => shareOf(hit, rule) > 0;
  const factor = (rule: string): number => hit.signals.boosts.find(boost => boost.rule === rule)?.factor ?? 1;
  const front = fileName(inFront ?? '');
  const defined = [...new Set(hit.definitions.length ? hit.definitions : hit.symbol ? [hit.symbol] : [])];
  const names = listed(defined, MOST_NAMES, 'more name');
  const parts = [
    pinned.includes(hit.uri) ? l10n.t('is pinned by you') : '',
    did('verbatim') ? l10n.t('holds your words in your order') : '',
    defined.length ? (hit.source === 'docs' ? l10n.t('is headed {0}', names) : l10n.t('defines {0}', names)) : '',
    matched.length
      ? l10n.t(
          'holds {0}',
          listed(
            matched.map(word => l10n.t('“{0}”', word)),
            MOST_WORDS,
            'more word',
          ),
        )
      : '',
    !matched.length && did('meaning') ? l10n.t('is close to the question in meaning') : '',
    hit.uri === inFront ? l10n.t('is in the file in front of you') : '',
    hit.uri !== inFront && front && factor('tied') > 1.02
      ? l10n.t('uses or is used by {0}, the file in front of you', front)
      : '',
  ].filter(Boolean);
  if (!parts.length)
    return shareOf(hit, 'combined')
      ? l10n.t('Fits several parts of the question.')
      : l10n.t('Fits the question best by all signs together.');
  const sentence = joined(parts);
  return l10n.t('{0}.', `${sentence[0]?.toUpperCase() ?? ''}${sentence.slice(1)}`);
}

function listed(names: readonly string[], most: number, more: 'more name' | 'more word'): string {
  const shown = names.slice(0, most).join(l10n.t(', '));
  return names.length > most ? l10n.t('{0} and {1}', shown, count(names.length - most, more)) : shown;
}

function shareOf({ signals }: HitResult, rule: string): number {
  return signals.contributions?.find(one => one.rule === rule)?.share ?? 0;
}

const RULES: Readonly<Record<string, string>> = {
  words: l10n.t('words of the question'),
  meaning: l10n.t('close in meaning'),
  coverage: l10n.t('holds many of the words'),
  whole_file: l10n.t('the file as a whole is about it'),
  path_match: l10n.t('the file is called like it'),
  in_scope: l10n.t('lies in the part that is named'),
  substance: l10n.t('length of the place and its file'),
  name_match: l10n.t('defines what the question names'),
  verbatim: l10n.t('holds its words in their order'),
  path_penalty: l10n.t('tests, documents, data and the like step back'),
  in_view: l10n.t('open in the editor'),
  nearby: l10n.t('near the file in front'),
  tied: l10n.t('tied to the file in front'),
  combined: l10n.t('several searches together'),
};

/** The score as a sum: [signed share, in words] for each rule. */
export function sum({ signals }: HitResult): (readonly [string, string])[] {
  return (signals.contributions ?? []).map(({ rule, share }) => [signed(share), RULES[rule] ?? rule] as const);
}

function signed(share: number): string {
  return `${share < 0 ? '−' : '+'}${numeral(Math.abs(share), 2)}`;
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

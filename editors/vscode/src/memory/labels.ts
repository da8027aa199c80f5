/** Numbers and states as people read them. */

import { env, l10n } from 'vscode';
import type { StatusResult } from '../protocol';
import type { ServerState } from '../server/supervisor';
import type { Work } from './state';

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let value = count;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${numeral(unit && value < 10 ? Number(value.toFixed(1)) : Math.round(value))} ${units[unit] ?? ''}`;
}

/** A number with the signs of the editor's language, and as many digits after the point. */
export function numeral(value: number, digits?: number): string {
  const most = digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString(env.language, most);
}

/** What is counted: one of it, and several. */
const COUNTED = {
  byte: [l10n.t('{0} byte'), l10n.t('{0} bytes')],
  character: [l10n.t('{0} character'), l10n.t('{0} characters')],
  file: [l10n.t('{0} file'), l10n.t('{0} files')],
  'more name': [l10n.t('{0} more name'), l10n.t('{0} more names')],
  'more place': [l10n.t('{0} more place'), l10n.t('{0} more places')],
  'more word': [l10n.t('{0} more word'), l10n.t('{0} more words')],
  number: [l10n.t('{0} number'), l10n.t('{0} numbers')],
  path: [l10n.t('{0} path'), l10n.t('{0} paths')],
  piece: [l10n.t('{0} piece'), l10n.t('{0} pieces')],
  place: [l10n.t('{0} place'), l10n.t('{0} places')],
  request: [l10n.t('{0} request'), l10n.t('{0} requests')],
  search: [l10n.t('{0} search'), l10n.t('{0} searches')],
  secret: [l10n.t('{0} secret'), l10n.t('{0} secrets')],
  text: [l10n.t('{0} text'), l10n.t('{0} texts')],
  token: [l10n.t('{0} token'), l10n.t('{0} tokens')],
} as const;

export function count(amount: number, what: keyof typeof COUNTED): string {
  return COUNTED[what][amount === 1 ? 0 : 1].replace('{0}', numeral(amount));
}

/** "a, b and c". */
export function joined(parts: readonly string[]): string {
  const last = parts.at(-1) ?? '';
  return parts.length > 1 ? l10n.t('{0} and {1}', parts.slice(0, -1).join(l10n.t(', ')), last) : last;
}

/** Whether a run over all files was stopped, or never ended, so that only a part of the project is found. */
export function isPartial({ state, files, complete, unfinished = 0 }: StatusResult): boolean {
  return state === 'ready' && files > 0 && (complete === false || unfinished > 0);
}

/** What the server advises, in the words of the editor's commands. */
export function inEditor(text: string): string {
  return text.replaceAll('`carrel index`', l10n.t('“Carrel: Index This Project”'));
}

/** How the index of one folder is, in a few words. */
export function stateOf(status: StatusResult): string {
  switch (status.state) {
    case 'empty':
      return l10n.t('not indexed yet');
    case 'indexing':
      return status.pending ? l10n.t('indexing, {0} to go', count(status.pending, 'file')) : l10n.t('indexing');
    case 'error':
      return status.error ?? l10n.t('error');
    case 'ready':
      if (isPartial(status))
        return status.role === 'follower' ? l10n.t('another window is indexing it') : l10n.t('{0}: resume', part(status));
      return status.pending ? l10n.t('ready, {0} to update', count(status.pending, 'file')) : l10n.t('ready');
  }
}

/** "18,445 of 50,001 files", as far as it is known how many there are. */
function part({ files, unfinished = 0 }: StatusResult): string {
  return unfinished
    ? l10n.t('{0} of {1}', numeral(files), count(files + unfinished, 'file'))
    : l10n.t('{0}, not all', count(files, 'file'));
}

/** What is said of a run that was cancelled. */
export function cancelledText(statuses: readonly StatusResult[]): string {
  const files = statuses.reduce((sum, status) => sum + status.files, 0);
  return l10n.t('cancelled, {0} kept', count(files, 'file'));
}

/** How far work is, from the server's "18445/50001 files": the numbers as people read them, and a bar. */
export function progressText({ message, percentage }: Work): string {
  const found = /^(\d+)\/(\d+) files(.*)$/.exec(message);
  if (!found) return message || l10n.t('looking for changed files');
  const [, done, total, more = ''] = found;
  return `${bar(percentage)} ${l10n.t('{0} of {1}', numeral(Number(done)), count(Number(total), 'file'))}${more}`;
}

const BAR = 8;
const BARS = /[▰▱]+ /g;

function bar(percentage: number): string {
  // To the nearest cell: rounded down, a large project would show an empty bar for long. Full only when all is done.
  const full = percentage < 100 ? Math.min(BAR - 1, Math.round((percentage * BAR) / 100)) : BAR;
  return '▰'.repeat(full) + '▱'.repeat(BAR - full);
}

export interface Badge {
  readonly text: string;
  /** The same for a screen reader, without signs. */
  readonly spoken: string;
  readonly tooltip: string;
  readonly trouble: boolean;
  /** What a click does. */
  readonly command: string;
}

/** What a person decided about this project's memory. */
export interface Decision {
  readonly on: boolean;
  /** False in Restricted Mode, where nothing can be switched on. */
  readonly usable: boolean;
}

const SHOW = 'carrel.memory.focus';

/** The status-bar item: one word for the state, and what a click does about it. */
export function badge(
  server: ServerState,
  statuses: readonly StatusResult[],
  work: Work | undefined,
  { on, usable }: Decision,
): Badge {
  const each = statuses.map(status => {
    const folder = statuses.length > 1 ? `${status.name}: ` : '';
    return `${folder}${stateOf(status)}: ${[count(status.files, 'file'), count(status.chunks, 'piece')].join(l10n.t(', '))}`;
  });
  const about = (icon: string, text: string, more: string, command = SHOW): Badge => ({
    text: `$(${icon}) ${text}`,
    spoken: text.replace(BARS, ''),
    tooltip: [`Carrel: ${more}`, ...each].join('\n'),
    trouble: false,
    command,
  });
  if (server.kind === 'failed') {
    const text = server.lacks === 'python' ? l10n.t('Carrel: needs Python') : l10n.t('Carrel: problem');
    const command = server.lacks === 'python' ? 'carrel.getPython' : 'carrel.doctor';
    return { ...about('warning', text, `${server.problem}\n${server.remedy}`, command), trouble: true };
  }
  if (server.kind === 'starting') return about('sync~spin', l10n.t('Carrel: starting'), l10n.t('the server starts'));
  if (server.kind === 'waiting')
    return about('sync~spin', l10n.t('Carrel: starting'), l10n.t('the server {0}; it starts again', server.reason));
  if (work)
    return about('sync~spin', l10n.t('Carrel: indexing, {0}', progressText(work)), `${work.title}, ${progressText(work)}`);
  const broken = statuses.find(status => status.state === 'error');
  if (broken)
    return { ...about('warning', l10n.t('Carrel: problem'), broken.error ?? l10n.t('error'), 'carrel.doctor'), trouble: true };
  const partial = statuses.find(isPartial);
  if (partial?.role === 'follower')
    return about('sync~spin', l10n.t('Carrel: indexing'), l10n.t('another window is indexing this project'));
  if (partial)
    return about(
      'debug-pause',
      l10n.t('Carrel: {0}: resume', part(partial)),
      l10n.t('a part of the project is indexed; click to index the rest'),
      RESUME,
    );
  const indexed = statuses.some(({ files }) => files);
  if (!on && !indexed) {
    const keep = usable ? '' : l10n.t('. In Restricted Mode nothing is kept indexed: trust this folder first');
    return about('library', l10n.t('Carrel: on request'), l10n.t('the first question to @carrel indexes this project') + keep);
  }
  if (!statuses.length) return about('sync~spin', l10n.t('Carrel: opening'), l10n.t('the index is being opened'));
  if (statuses.some(({ state }) => state === 'indexing'))
    return about('sync~spin', l10n.t('Carrel: indexing'), l10n.t('indexing'));
  const ready = statuses.filter(({ state }) => state !== 'empty').length;
  if (!ready) return about('library', l10n.t('Carrel: not indexed'), l10n.t('click to index this project'), RESUME);
  if (ready < statuses.length) {
    const text = l10n.t('Carrel: {0} of {1} folders indexed', ready, statuses.length);
    return about('library', text, l10n.t('click to index the others too'), RESUME);
  }
  return about(
    'library',
    l10n.t('Carrel: ready'),
    on ? l10n.t('ready') : l10n.t('ready; each question brings the index up to date'),
  );
}

const RESUME = 'carrel.memory.index';

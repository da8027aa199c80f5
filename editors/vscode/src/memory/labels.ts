/** Numbers and states as people read them. */

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
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? ''}`;
}

export function count(amount: number, singular: string, plural = `${singular}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? singular : plural}`;
}

/** Whether a run over all files was stopped, or never ended, so that only a part of the project is found. */
export function isPartial({ state, files, complete, unfinished = 0 }: StatusResult): boolean {
  return state === 'ready' && files > 0 && (complete === false || unfinished > 0);
}

/** What the server advises, in the words of the editor's commands. */
export function inEditor(text: string): string {
  return text.replaceAll('`carrel index`', '“Carrel: Index This Project”');
}

/** How the index of one folder is, in a few words. */
export function stateOf(status: StatusResult): string {
  switch (status.state) {
    case 'empty':
      return 'not indexed yet';
    case 'indexing':
      return status.pending ? `indexing, ${count(status.pending, 'file')} to go` : 'indexing';
    case 'error':
      return status.error ?? 'error';
    case 'ready':
      if (isPartial(status)) return status.role === 'follower' ? 'another window is indexing it' : `${part(status)}: resume`;
      return status.pending ? `ready, ${count(status.pending, 'file')} to update` : 'ready';
  }
}

/** "18,445 of 50,001 files", as far as it is known how many there are. */
function part({ files, unfinished = 0 }: StatusResult): string {
  const indexed = files.toLocaleString('en-US');
  return unfinished ? `${indexed} of ${count(files + unfinished, 'file')}` : `${count(files, 'file')}, not all`;
}

/** What is said of a run that was cancelled. */
export function cancelledText(statuses: readonly StatusResult[]): string {
  return `cancelled, ${count(
    statuses.reduce((sum, { files }) => sum + files, 0),
    'file',
  )} kept`;
}

/** How far work is, from the server's "18445/50001 files": the numbers as people read them, and a bar. */
export function progressText({ message, percentage }: Work): string {
  const found = /^(\d+)\/(\d+) files(.*)$/.exec(message);
  if (!found) return message || 'looking for changed files';
  const [, done, total, more = ''] = found;
  return `${bar(percentage)} ${Number(done).toLocaleString('en-US')} of ${count(Number(total), 'file')}${more}`;
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
  const each = statuses.map(status => `${stateOf(status)}: ${count(status.files, 'file')}, ${count(status.chunks, 'piece')}`);
  const about = (icon: string, text: string, more: string, command = SHOW): Badge => ({
    text: `$(${icon}) ${text}`,
    spoken: text.replace(BARS, ''),
    tooltip: [`Carrel: ${more}`, ...each].join('\n'),
    trouble: false,
    command,
  });
  if (server.kind === 'failed') {
    const text = server.lacks === 'python' ? 'Carrel: needs Python' : 'Carrel: problem';
    const command = server.lacks === 'python' ? 'carrel.getPython' : 'carrel.doctor';
    return { ...about('warning', text, `${server.problem}\n${server.remedy}`, command), trouble: true };
  }
  if (server.kind === 'starting') return about('sync~spin', 'Carrel: starting', 'the server starts');
  if (server.kind === 'waiting') return about('sync~spin', 'Carrel: starting', `the server ${server.reason}; it starts again`);
  if (work) return about('sync~spin', `Carrel: indexing, ${progressText(work)}`, `${work.title}, ${progressText(work)}`);
  const broken = statuses.find(status => status.state === 'error');
  if (broken) return { ...about('warning', 'Carrel: problem', broken.error ?? 'error', 'carrel.doctor'), trouble: true };
  const partial = statuses.find(isPartial);
  if (partial?.role === 'follower') return about('sync~spin', 'Carrel: indexing', 'another window is indexing this project');
  if (partial)
    return about(
      'debug-pause',
      `Carrel: ${part(partial)}: resume`,
      'a part of the project is indexed; click to index the rest',
      RESUME,
    );
  const indexed = statuses.some(({ files }) => files);
  if (!on && !indexed) {
    const keep = usable ? '' : '. In Restricted Mode nothing is kept indexed: trust this folder first';
    return about('library', 'Carrel: on request', `the first question to @carrel indexes this project${keep}`);
  }
  if (!statuses.length) return about('sync~spin', 'Carrel: opening', 'the index is being opened');
  if (statuses.every(({ state }) => state === 'empty'))
    return about('library', 'Carrel: not indexed', 'click to index this project', RESUME);
  if (statuses.some(({ state }) => state === 'indexing')) return about('sync~spin', 'Carrel: indexing', 'indexing');
  return about('library', 'Carrel: ready', on ? 'ready' : 'ready; each question brings the index up to date');
}

const RESUME = 'carrel.memory.index';

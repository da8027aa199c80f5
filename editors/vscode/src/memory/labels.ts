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
      return status.pending ? `ready, ${count(status.pending, 'file')} to update` : 'ready';
  }
}

export interface Badge {
  readonly text: string;
  readonly tooltip: string;
  readonly trouble: boolean;
}

/** The status-bar item. */
export function badge(server: ServerState, statuses: readonly StatusResult[], work: Work | undefined, enabled: boolean): Badge {
  const tooltip = statuses
    .map(status => `${stateOf(status)}: ${count(status.files, 'file')}, ${count(status.chunks, 'chunk')}`)
    .join('\n');
  const plain = (text: string, more: string): Badge => ({ text, tooltip: more, trouble: false });
  if (server.kind === 'failed')
    return { text: '$(warning) Carrel', tooltip: `${server.problem}\n${server.remedy}`, trouble: true };
  if (server.kind === 'starting') return plain('$(sync~spin) Carrel', 'The server starts');
  if (server.kind === 'waiting') return plain('$(sync~spin) Carrel', `The server ${server.reason}; it starts again`);
  if (work) return plain(`$(sync~spin) Carrel ${work.message}`.trimEnd(), `${work.title} ${work.message}`);
  const broken = statuses.find(status => status.state === 'error');
  if (broken) return { text: '$(warning) Carrel', tooltip: broken.error ?? 'error', trouble: true };
  if (server.kind === 'stopped') return plain('$(circle-slash) Carrel', 'Project memory is off; ask @carrel at any time');
  return plain(enabled ? '$(library) Carrel' : '$(circle-slash) Carrel', tooltip || 'Project memory');
}

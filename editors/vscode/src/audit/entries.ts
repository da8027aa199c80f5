/** Entries of the audit log in words. Pure: tested without an editor. docs/audit.md has the fields. */

import { count } from '../memory/labels';
import type { Node } from '../memory/nodes';
import type { AuditEntry, AuditResult } from '../protocol';

/** The kinds of entries, the most looked for first, each as a filter and as a row names it. */
export const KINDS: Readonly<Record<string, { readonly filter: string; readonly row: string; readonly icon: string }>> = {
  context: { filter: 'What was given to chats', row: 'Given to a chat', icon: 'comment-discussion' },
  sent: { filter: 'What left this machine', row: 'Left this machine', icon: 'cloud-upload' },
  tool: { filter: 'Calls of tools', row: 'Tool', icon: 'tools' },
  search: { filter: 'Searches', row: 'Search', icon: 'search' },
  answer: { filter: 'Answers of models', row: 'Answer', icon: 'comment' },
  permission: { filter: 'What you allowed and withdrew', row: 'Permission', icon: 'key' },
  pipeline: { filter: 'Pipelines', row: 'Pipeline', icon: 'run-all' },
  tools: { filter: 'Searches for tools', row: 'Search for tools', icon: 'search' },
};

export const SPANS: Readonly<Record<string, string>> = {
  '1h': 'the last hour',
  '1d': 'the last day',
  '7d': 'the last week',
  '': 'as far back as it goes',
};

/** What is shown of the log. An empty kind means all of them, an empty span all time. */
export interface Filter {
  readonly kind: string;
  readonly since: string;
}

export function filterText({ kind, since }: Filter): string {
  return [kind ? (KINDS[kind]?.filter ?? kind) : 'everything', SPANS[since] ?? since].join(', ');
}

/** The rows of the view: trouble first, then the entries, the newest first. `questions` says the words of questions that this window asked. */
export function auditNodes(
  result: AuditResult | undefined,
  limit: number,
  questions: (packId: string) => string | undefined,
): readonly Node[] {
  if (!result) return [];
  const note = (id: string, label: string, icon: string): Node => ({ id, label, icon });
  return [
    ...(result.problem ? [note('problem', `Nothing can be recorded: ${result.problem}`, 'warning')] : []),
    ...(result.enabled
      ? []
      : [note('off', 'Nothing is recorded at the moment: the setting carrel.audit says so', 'circle-slash')]),
    ...(result.entries.length ? result.entries.map(entry => row(entry, questions)) : [note('none', 'No entries', 'info')]),
    ...(result.entries.length === limit ? [note('more', `Older entries: choose a filter, or run carrel audit`, 'ellipsis')] : []),
  ];
}

function row(entry: AuditEntry, questions: (packId: string) => string | undefined): Node {
  const kind = KINDS[entry.kind];
  const asked = questions(text(entry.details.id));
  return {
    id: String(entry.number),
    label: `${kind?.row ?? entry.kind}: ${asked ?? summary(entry)}`,
    description: time(entry.at),
    icon: kind?.icon ?? 'circle-small',
    command: { id: 'carrel.audit.open', args: [entry.number] },
  };
}

/** One line: what happened, and to what. */
export function summary({ kind, details }: AuditEntry): string {
  switch (kind) {
    case 'context':
    case 'search': {
      const named = places(details).map(place => place.name);
      const more = named.length > 2 ? ` and ${count(named.length - 2, 'more place', 'more places')}` : '';
      return named.length ? named.slice(0, 2).join(', ') + more : 'nothing found';
    }
    case 'tool':
      return text(details.tool) + (details.failed ? ', failed' : '');
    case 'answer':
      return `${text(details.model)}, ${count(number(details.answer_tokens), 'token')}`;
    case 'sent':
      return `${count(number(details.texts), 'text')} to ${text(details.provider)} at ${text(details.host)}`;
    case 'permission':
      return `${text(details.provider)} at ${text(details.host)} ${details.allowed ? 'allowed' : 'withdrawn'}`;
    case 'pipeline':
      return details.ran ? steps(details) + (details.failed ? ', failed' : '') : 'not run';
    default:
      return text(details.pipeline ?? details.caller) || 'see the entry';
  }
}

/** The tools of a pipeline that ran, in their order. */
function steps(details: AuditEntry['details']): string {
  const given = Array.isArray(details.steps) ? (details.steps as readonly unknown[]) : [];
  return given.map(step => text((step as { readonly tool?: unknown } | null)?.tool)).join(', ') || 'no step';
}

/** An entry as a page that a person reads: a sentence, the places, then every field. */
export function readable(entry: AuditEntry, question: string | undefined): string {
  const { details } = entry;
  const found = places(details);
  const fields = Object.entries(details).filter(([name]) => name !== 'places');
  return [
    `# ${KINDS[entry.kind]?.row ?? entry.kind}: ${summary(entry)}`,
    '',
    `Entry ${entry.number} of the audit log, ${time(entry.at)}, by ${entry.user}${details.caller ? ` through ${text(details.caller)}` : ''}.`,
    ...(question
      ? ['', `> ${question.replace(/\s+/g, ' ')}`, '', 'The question is known to this window; the log has its hash.']
      : []),
    ...(found.length ? ['', `## ${count(found.length, 'place')}`, '', ...found.map(place => `- ${place.name}${place.why}`)] : []),
    '',
    '## All fields',
    '',
    ...fields.map(([name, value]) => `- ${name}: ${plain(value)}`),
    '',
    'Texts stand in the log as their hash (SHA-256, the first 128 bits) and their length, unless the setting `carrel.audit` keeps them.',
    '',
  ].join('\n');
}

interface Place {
  readonly name: string;
  readonly why: string;
}

function places({ places: found }: AuditEntry['details']): readonly Place[] {
  if (!Array.isArray(found)) return [];
  return (found as readonly Record<string, unknown>[]).map(place => {
    const [first, last] = Array.isArray(place.lines) ? (place.lines as readonly unknown[]) : [];
    const rules = Object.entries((place.rules ?? {}) as Record<string, unknown>).map(
      ([name, factor]) => `${name} ${plain(factor)}`,
    );
    const score = place.score === undefined ? '' : `: score ${plain(place.score)}`;
    return {
      name: `${text(place.path)}:${text(first)}-${text(last)}`,
      why: score + (rules.length ? ` (${rules.join(', ')})` : ''),
    };
  });
}

function plain(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? value.toLocaleString('en-US') : value.toFixed(2);
  if (value === null || typeof value !== 'object') return text(value);
  const { hash, chars, text: kept } = value as { hash?: unknown; chars?: unknown; text?: unknown };
  if (typeof kept === 'string') return kept;
  if (hash !== undefined && chars !== undefined) return `${count(number(chars), 'character')}, hash ${text(hash)}`;
  return JSON.stringify(value);
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** "2026-11-22 18:59:51" of where the editor runs. */
function time(at: string): string {
  const day = new Date(at);
  if (Number.isNaN(day.getTime())) return at;
  const two = (value: number): string => String(value).padStart(2, '0');
  const date = [day.getFullYear(), two(day.getMonth() + 1), two(day.getDate())].join('-');
  return `${date} ${[day.getHours(), day.getMinutes(), day.getSeconds()].map(two).join(':')}`;
}

/** Entries of the audit log in words. Pure: tested without an editor. docs/audit.md has the fields. */

import { l10n } from 'vscode';
import { count, numeral } from '../memory/labels';
import type { Node } from '../memory/nodes';
import type { AuditEntry, AuditResult } from '../protocol';

/** The kinds of entries, the most looked for first, each as a filter and as a row names it. */
export const KINDS: Readonly<Record<string, { readonly filter: string; readonly row: string; readonly icon: string }>> = {
  context: { filter: l10n.t('What was given to chats'), row: l10n.t('Given to a chat'), icon: 'comment-discussion' },
  sent: { filter: l10n.t('What left this machine'), row: l10n.t('Left this machine'), icon: 'cloud-upload' },
  tool: { filter: l10n.t('Calls of tools'), row: l10n.t('Tool'), icon: 'tools' },
  search: { filter: l10n.t('Searches'), row: l10n.t('Search'), icon: 'search' },
  answer: { filter: l10n.t('Answers of models'), row: l10n.t('Answer'), icon: 'comment' },
  permission: { filter: l10n.t('What you allowed and withdrew'), row: l10n.t('Permission'), icon: 'key' },
  pipeline: { filter: l10n.t('Pipelines'), row: l10n.t('Pipeline'), icon: 'run-all' },
  tools: { filter: l10n.t('Searches for tools'), row: l10n.t('Search for tools'), icon: 'search' },
};

export const SPANS: Readonly<Record<string, string>> = {
  '1h': l10n.t('the last hour'),
  '1d': l10n.t('the last day'),
  '7d': l10n.t('the last week'),
  '': l10n.t('as far back as it goes'),
};

/** What is shown of the log. An empty kind means all of them, an empty span all time. */
export interface Filter {
  readonly kind: string;
  readonly since: string;
}

export function filterText({ kind, since }: Filter): string {
  return [kind ? (KINDS[kind]?.filter ?? kind) : l10n.t('everything'), SPANS[since] ?? since].join(l10n.t(', '));
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
    ...(result.problem ? [note('problem', l10n.t('Nothing can be recorded: {0}', result.problem), 'warning')] : []),
    ...(result.enabled
      ? []
      : [note('off', l10n.t('Nothing is recorded at the moment: the setting carrel.audit says so'), 'circle-slash')]),
    ...(result.entries.length
      ? result.entries.map(entry => row(entry, questions))
      : [note('none', l10n.t('No entries'), 'info')]),
    ...(result.entries.length === limit
      ? [note('more', l10n.t('Older entries: choose a filter, or run carrel audit'), 'ellipsis')]
      : []),
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
      if (!named.length) return l10n.t('nothing found');
      const shown = named.slice(0, 2).join(l10n.t(', '));
      return named.length > 2 ? l10n.t('{0} and {1}', shown, count(named.length - 2, 'more place')) : shown;
    }
    case 'tool':
      return outcome(text(details.tool), details);
    case 'answer':
      return [text(details.model), count(number(details.answer_tokens), 'token')].join(l10n.t(', '));
    case 'sent':
      return l10n.t('{0} to {1} at {2}', count(number(details.texts), 'text'), text(details.provider), text(details.host));
    case 'permission':
      return details.allowed
        ? l10n.t('{0} at {1} allowed', text(details.provider), text(details.host))
        : l10n.t('{0} at {1} withdrawn', text(details.provider), text(details.host));
    case 'pipeline':
      return details.ran ? outcome(steps(details), details) : l10n.t('not run');
    default:
      return text(details.pipeline ?? details.caller) || l10n.t('see the entry');
  }
}

function outcome(what: string, { failed }: AuditEntry['details']): string {
  return failed ? l10n.t('{0}, failed', what) : what;
}

/** The tools of a pipeline that ran, in their order. */
function steps(details: AuditEntry['details']): string {
  const given = Array.isArray(details.steps) ? (details.steps as readonly unknown[]) : [];
  return given.map(step => text((step as { readonly tool?: unknown } | null)?.tool)).join(l10n.t(', ')) || l10n.t('no step');
}

/** An entry as a page that a person reads: a sentence, the places, then every field. */
export function readable(entry: AuditEntry, question: string | undefined): string {
  const { details } = entry;
  const found = places(details);
  const fields = Object.entries(details).filter(([name]) => name !== 'places');
  return [
    `# ${KINDS[entry.kind]?.row ?? entry.kind}: ${summary(entry)}`,
    '',
    details.caller
      ? l10n.t(
          'Entry {0} of the audit log, {1}, by {2} through {3}.',
          entry.number,
          time(entry.at),
          entry.user,
          text(details.caller),
        )
      : l10n.t('Entry {0} of the audit log, {1}, by {2}.', entry.number, time(entry.at), entry.user),
    ...(question
      ? ['', `> ${question.replace(/\s+/g, ' ')}`, '', l10n.t('The question is known to this window; the log has its hash.')]
      : []),
    ...(found.length ? ['', `## ${count(found.length, 'place')}`, '', ...found.map(place => `- ${place.name}${place.why}`)] : []),
    '',
    `## ${l10n.t('All fields')}`,
    '',
    ...fields.map(([name, value]) => `- ${name}: ${plain(value)}`),
    '',
    l10n.t(
      'Texts stand in the log as their hash (SHA-256, the first 128 bits) and their length, unless the setting `carrel.audit` keeps them.',
    ),
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
    const score = place.score === undefined ? '' : l10n.t(': score {0}', plain(place.score));
    return {
      name: `${text(place.path)}:${text(first)}-${text(last)}`,
      why: score + (rules.length ? ` (${rules.join(', ')})` : ''),
    };
  });
}

function plain(value: unknown): string {
  if (typeof value === 'number') return Number.isInteger(value) ? numeral(value) : numeral(value, 2);
  if (value === null || typeof value !== 'object') return text(value);
  const { hash, chars, text: kept } = value as { hash?: unknown; chars?: unknown; text?: unknown };
  if (typeof kept === 'string') return kept;
  if (hash !== undefined && chars !== undefined) return l10n.t('{0}, hash {1}', count(number(chars), 'character'), text(hash));
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

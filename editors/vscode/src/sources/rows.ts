/** Sources and actions as rows of a list, and what a name may be: plain data, tested without an editor. */

import { l10n } from 'vscode';
import { count } from '../memory/labels';
import type { SourceResult } from '../protocol';

export type Adding = 'documents' | 'history' | 'resources' | 'repository';

export interface Row {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  /** The id of the source that the row is about; the workspace's own has none, since it can't be removed. */
  readonly source?: string;
  readonly adds?: Adding;
}

const ICONS: Readonly<Record<string, string>> = {
  code: 'folder',
  documents: 'book',
  git: 'git-commit',
  mcp: 'plug',
  repository: 'cloud',
};
const KINDS: Readonly<Record<string, string>> = {
  code: l10n.t('this workspace'),
  documents: l10n.t('documents'),
  git: l10n.t('git history'),
  mcp: l10n.t('resources of an MCP server'),
  repository: l10n.t('published repository'),
};
const STATES: Readonly<Record<SourceResult['state'], string>> = {
  empty: l10n.t('read when a question first needs it'),
  indexing: l10n.t('being indexed'),
  ready: l10n.t('ready'),
  error: l10n.t('can’t be searched'),
};

/** A source: what it is and how it is, and, for lack of room, in rows of their own what a person may want to mend. */
export function sourceRows(source: SourceResult): Row[] {
  const { id, kind, state, files, folder, description, problems = [], failed = [] } = source;
  const facts = [KINDS[kind] ?? kind, STATES[state], ...(files ? [count(files, 'file')] : [])];
  const wrong = [
    ...problems,
    ...(failed.length ? [l10n.t('{0} can’t be read: {1}', count(failed.length, 'file'), failed[0]?.path ?? '')] : []),
  ];
  const own = kind === 'code' ? {} : { source: id };
  return [
    {
      label: `$(${ICONS[kind] ?? 'library'}) ${id}`,
      description: facts.join(' · '),
      detail: [folder, description].filter(Boolean).join(' — '),
      ...own,
    },
    ...wrong.map(problem => ({ label: `$(warning) ${problem}`, ...own })),
  ];
}

export const ADDING: readonly Row[] = [
  {
    label: `$(book) ${l10n.t('Add a Folder of Documents…')}`,
    description: l10n.t('runbooks, protocols, notes, PDF, Word'),
    adds: 'documents',
  },
  {
    label: `$(git-commit) ${l10n.t('Add Git History…')}`,
    description: l10n.t('commits of this repository or another one'),
    adds: 'history',
  },
  {
    label: `$(plug) ${l10n.t('Add an MCP Server’s Resources…')}`,
    description: l10n.t('of a server that “carrel tools” knows'),
    adds: 'resources',
  },
  {
    label: `$(cloud) ${l10n.t('Add a Published Repository…')}`,
    description: l10n.t('searched without a checkout'),
    adds: 'repository',
  },
];

/** What is wrong with a name, while it is typed; the server has the last word. */
export function nameProblem(name: string, taken: readonly string[]): string | undefined {
  if (!name) return l10n.t('Type a name, such as runbooks');
  if (!/^[a-z0-9][a-z0-9_-]{0,39}$/.test(name))
    return l10n.t('Use up to 40 small letters, digits, - and _, a letter or digit first');
  return taken.includes(name) ? l10n.t('{0} is a source already: choose another name, or remove it first', name) : undefined;
}

/** What is wrong with an address. */
export function addressProblem(adds: Adding, text: string): string | undefined {
  const form = adds === 'resources' ? /^mcp:\/\/[^/\s]+(\/\S*)?$/ : /^qdrant:\/\/[^/\s:]+(:\d+)?\/\S+$/;
  const example =
    adds === 'resources'
      ? l10n.t('mcp://wiki, or mcp://wiki/note:// for a part of it')
      : 'qdrant://qdrant.example.com:6333/billing';
  return form.test(text.trim()) ? undefined : l10n.t('Type an address such as {0}', example);
}

/** A name for what lies at a place, that a person may change. */
export function suggestedName(place: string, taken: readonly string[]): string {
  const parts = place.split(/[/\\]+/).filter(Boolean);
  const slug = (parts.at(-1) ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, 36);
  let name = slug || 'documents';
  for (let number = 2; taken.includes(name); number += 1) name = `${slug || 'documents'}-${number}`;
  return name;
}

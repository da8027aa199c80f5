/** The Memory view as plain data; `tree.ts` draws it. */

import { l10n } from 'vscode';
import type { StatusResult } from '../protocol';
import type { Budget } from '../settings';
import type { ServerState } from '../server/supervisor';
import type { Work } from './state';
import { bytes, count, isPartial, numeral, progressText, stateOf } from './labels';

/** How the ids of the models in the package begin. */
const BUNDLED = 'carrel-embed';

export interface Node {
  /** Unique within the view, and stable, so that it stays open when the view is renewed. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  readonly tooltip?: string;
  readonly icon?: string;
  /** A switch, and the setting that it turns. */
  readonly toggle?: { readonly key: 'ragEnabled' | 'ragAutoIndex'; readonly on: boolean };
  readonly command?: { readonly id: string; readonly args?: readonly unknown[] };
  readonly context?: string;
  readonly children?: readonly Node[];
  readonly open?: boolean;
}

export interface Choices {
  readonly enabled: boolean;
  readonly autoIndex: boolean;
  /** False in Restricted Mode. */
  readonly usable: boolean;
  /** Undefined while a person set none: the budget decides. */
  readonly topK?: number | undefined;
  readonly budget: Budget;
  /** Of the default budget: how many tokens it may grow to with the window of the chat's model. */
  readonly growsTo?: number | undefined;
}

export interface Folder {
  readonly name: string;
  readonly uri: string;
  readonly status: StatusResult | undefined;
}

/** Everything in the view, top first; nothing before the first index, where the view shows its welcome. */
export function memoryNodes(
  choices: Choices,
  server: ServerState,
  work: Work | undefined,
  folders: readonly Folder[],
  answers: readonly Node[],
): Node[] {
  const off = !choices.enabled && !choices.autoIndex;
  const unknown = folders.every(({ status }) => !status || (status.state === 'empty' && !status.error));
  if (off && choices.usable && unknown && !work && !answers.length && server.kind !== 'failed') return [];
  const several = folders.length > 1;
  return [
    ...settings(choices),
    ...troubles(server),
    ...(work
      ? [
          {
            id: 'work',
            label: work.title,
            description: progressText(work),
            icon: 'sync~spin',
            context: 'work',
          },
        ]
      : []),
    ...folders.flatMap(folder => {
      const inside = index(folder, server.kind === 'running' || server.kind === 'starting');
      const alike = folders.filter(({ name }) => name === folder.name).length > 1;
      const label = (alike ? folder.status?.name : undefined) ?? folder.name;
      return several ? [{ id: folder.uri, label, icon: 'root-folder', open: true, children: inside, context: 'folder' }] : inside;
    }),
    {
      id: 'answers',
      label: l10n.t('Last answers'),
      icon: 'history',
      open: true,
      children: answers.length ? answers : [{ id: 'answers/none', label: l10n.t('None yet: ask @carrel in the chat') }],
    },
    howItWorks(),
  ];
}

function settings(choices: Choices): Node[] {
  const restricted = {
    description: l10n.t('off in Restricted Mode'),
    tooltip: l10n.t(
      "This folder isn't trusted, so nothing in it is indexed by itself. Click to see what trusting it means. You can ask @carrel in any case.",
    ),
    icon: 'lock',
    command: { id: 'workbench.trust.manage' },
  };
  return [
    {
      id: 'enabled',
      label: l10n.t('Help my other chats too'),
      ...(choices.usable
        ? {
            toggle: { key: 'ragEnabled', on: choices.enabled } as const,
            tooltip: l10n.t(
              'Chats that run through a Carrel proxy get the right parts of this project by themselves, and the server starts with the folder. @carrel and #carrel work in any case. Kept for you, not in the project.',
            ),
          }
        : restricted),
    },
    {
      id: 'auto',
      label: l10n.t('Keep this project indexed'),
      ...(choices.usable
        ? {
            toggle: { key: 'ragAutoIndex', on: choices.autoIndex } as const,
            tooltip: l10n.t('The index is brought up to date whenever this folder is opened. Kept for you, not in the project.'),
          }
        : restricted),
    },
    {
      id: 'topK',
      label: l10n.t('Places per answer'),
      description: choices.topK === undefined ? l10n.t('as many as fit') : l10n.t('at most {0}', choices.topK),
      icon: 'list-ordered',
      command: { id: 'carrel.memory.setTopK' },
    },
    {
      id: 'budget',
      label: l10n.t('Budget'),
      description: budgetText(choices),
      icon: 'dashboard',
      tooltip: choices.growsTo
        ? l10n.t(
            'How much of the project goes with a question: it grows with the window of the chat’s model. Click to set one limit.',
          )
        : l10n.t('How much of the project goes with a question, whatever the chat’s model takes.'),
      command: { id: 'carrel.memory.setBudget' },
    },
  ];
}

function budgetText({ budget: { chars = 0, tokens }, growsTo }: Choices): string {
  if (growsTo) return l10n.t('up to {0}', count(growsTo, 'token'));
  return tokens === undefined ? count(chars, 'character') : count(tokens, 'token');
}

function troubles(server: ServerState): Node[] {
  if (server.kind !== 'failed') return [];
  const id = server.lacks === 'python' ? 'carrel.getPython' : 'carrel.doctor';
  return [{ id: 'failed', label: server.problem, tooltip: server.remedy, icon: 'warning', command: { id } }];
}

function index(folder: Folder, running: boolean): Node[] {
  const { status, uri } = folder;
  if (!status)
    return [
      {
        id: `${uri}/state`,
        label: l10n.t('Index'),
        description: running ? l10n.t('opening') : l10n.t('opens with the next question'),
        icon: 'database',
      },
    ];
  const nodes: Node[] = [
    {
      id: `${uri}/state`,
      label: l10n.t('Index'),
      description: stateOf(status),
      icon: status.state === 'error' ? 'error' : 'database',
      tooltip: status.store,
      ...(isPartial(status) || status.state === 'empty' ? { command: { id: 'carrel.memory.index' } } : {}),
    },
  ];
  for (const [i, problem] of (status.problems ?? []).entries()) {
    nodes.push({ id: `${uri}/problem/${i}`, label: problem, icon: 'warning' });
  }
  if (status.files) {
    nodes.push(
      {
        id: `${uri}/files`,
        label: l10n.t('Files'),
        description: numeral(status.files),
        icon: 'files',
        children: languages(status, uri),
      },
      { id: `${uri}/chunks`, label: l10n.t('Pieces'), description: numeral(status.chunks), icon: 'symbol-snippet' },
      { id: `${uri}/size`, label: l10n.t('Size'), description: bytes(status.bytes), icon: 'save', tooltip: status.store },
      {
        id: `${uri}/model`,
        label: l10n.t('Search model'),
        description: status.model.id.startsWith(BUNDLED) ? l10n.t('built in, runs here') : status.model.id,
        icon: 'circuit-board',
        tooltip: l10n.t('{0}, {1} for each piece', status.model.id, count(status.model.dims, 'number')),
      },
    );
  }
  if (status.maskedSecrets) {
    const description = l10n.t('{0} in {1}', count(status.maskedSecrets, 'secret'), count(status.maskedFiles, 'file'));
    nodes.push({ id: `${uri}/masked`, label: l10n.t('Secrets hidden'), description, icon: 'lock' });
  }
  const lacking = status.chunksWithoutVectors;
  if (lacking) {
    const description = l10n.t('{0}, found by words', count(lacking, 'piece'));
    nodes.push({ id: `${uri}/lacking`, label: l10n.t('Without a vector'), description, icon: 'warning' });
  }
  if (status.failedFiles) nodes.push(failed(status, uri));
  if (status.skipped.length) nodes.push(skipped(status, uri));
  return nodes;
}

function languages(status: StatusResult, uri: string): Node[] {
  return Object.entries(status.languages)
    .sort(([a, m], [b, n]) => n - m || a.localeCompare(b))
    .map(([name, files]) => ({ id: `${uri}/language/${name}`, label: name, description: count(files, 'file'), icon: 'code' }));
}

function failed(status: StatusResult, uri: string): Node {
  return {
    id: `${uri}/failed`,
    label: l10n.t('Failed'),
    description: count(status.failedFiles, 'file'),
    icon: 'warning',
    tooltip: l10n.t('The next run tries again what the model did not refuse.'),
    children: status.failed.map(({ path, reason }) => ({ id: `${uri}/failed/${path}`, label: path, description: reason })),
  };
}

/** The paths are the first thousand, the numbers those of all. */
function skipped(status: StatusResult, uri: string): Node {
  const byReason = new Map<string, string[]>();
  for (const { path, reason } of status.skipped) byReason.set(reason, [...(byReason.get(reason) ?? []), path]);
  const numbers = new Map(Object.entries(status.leftOut ?? {}));
  const listed = [...byReason]
    .filter(([reason]) => !numbers.has(reason))
    .map(([reason, paths]) => [reason, paths.length] as const);
  const all = [...numbers, ...listed];
  const children = all.map(([reason, number]) => {
    const paths = byReason.get(reason) ?? [];
    const more = number - paths.length;
    return {
      id: `${uri}/skipped/${reason}`,
      label: reason,
      description: count(number, 'path'),
      icon: 'exclude',
      children: [
        ...paths.map(path => ({ id: `${uri}/skipped/${reason}/${path}`, label: path })),
        ...(more > 0 ? [{ id: `${uri}/skipped/${reason}/`, label: l10n.t('and {0} more', numeral(more)) }] : []),
      ],
    };
  });
  return {
    id: `${uri}/skipped`,
    label: l10n.t('Left out'),
    description: count(
      all.reduce((sum, [, number]) => sum + number, 0),
      'path',
    ),
    icon: 'circle-slash',
    children,
  };
}

function howItWorks(): Node {
  const lines = [
    l10n.t('Your files are cut along functions and classes and indexed on this machine; nothing leaves it.'),
    l10n.t('A question finds the places that fit, and they are put in front of it within the budget.'),
    l10n.t('The receipt of each answer shows what was sent, why, and what was left out.'),
  ];
  return {
    id: 'how',
    label: l10n.t('How it works'),
    icon: 'question',
    children: lines.map((label, i) => ({ id: `how/${i}`, label, tooltip: label })),
  };
}

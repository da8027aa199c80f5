/** Models and actions as rows of a list: plain data, tested without an editor. */

import { l10n } from 'vscode';
import { count, numeral } from '../memory/labels';
import type { ProviderModel, ProvidersResult } from '../protocol';

export type Action = 'enterKey' | 'removeKey' | 'check' | 'settings';

export interface Row {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
  readonly action?: Action;
  /** Whose key it is about. */
  readonly provider?: string;
  /** What went wrong, in full. */
  readonly problem?: string;
}

/** A model: where its text goes, whether it may, its key, what it cost; and in a row of its own, for lack of room, what went wrong. */
export function modelRows(model: ProviderModel): Row[] {
  const { destinations, lastError } = model;
  const wrong = model.problem || (lastError ? l10n.t('Last error: {0}', lastError) : '');
  const hosts = destinations.map(({ host, local }) => (local ? l10n.t('{0} (this machine)', host) : host));
  const row: Row = {
    label: `$(${isAllowed(model) ? 'check' : 'lock'}) ${model.role}: ${model.provider}`,
    description: [model.model, ...(hosts.length ? [hosts.join(', ')] : [])].join(' → '),
    detail: facts(model).join(' · '),
    ...(hosts.length ? { provider: model.provider } : {}),
  };
  return wrong ? [row, { label: `$(warning) ${wrong}`, problem: wrong }] : [row];
}

function facts(model: ProviderModel): string[] {
  const { destinations, hasKey, requests, dollars, answeredMs } = model;
  const remote = [
    isAllowed(model) ? l10n.t('allowed') : l10n.t('not allowed yet'),
    hasKey ? l10n.t('has a key') : l10n.t('no key found'),
    l10n.t('{0}, ${1} so far', count(requests, 'request'), numeral(dollars, 4)),
  ];
  return [
    ...(destinations.length ? remote : [l10n.t('runs inside Carrel, nothing is sent')]),
    ...(answeredMs === undefined ? [] : [l10n.t('answered in {0} ms', Math.round(answeredMs))]),
  ];
}

function isAllowed({ destinations }: ProviderModel): boolean {
  return destinations.every(({ allowed }) => allowed);
}

export const ACTIONS: readonly Row[] = [
  { label: `$(key) ${l10n.t('Enter Key…')}`, action: 'enterKey' },
  { label: `$(trash) ${l10n.t('Remove Key…')}`, action: 'removeKey' },
  {
    label: `$(debug-start) ${l10n.t('Test')}`,
    action: 'check',
    description: l10n.t('asks each model for as little as it can answer'),
  },
  { label: `$(gear) ${l10n.t('Open Settings')}`, action: 'settings' },
];

/** What may have a key: the providers in use first. */
export function keyRows({ models, keys }: ProvidersResult, kept: readonly string[]): Row[] {
  const used = new Map<string, string[]>();
  for (const { provider, role, destinations } of models)
    if (destinations.length) used.set(provider, [...(used.get(provider) ?? []), role]);
  const names = new Set([...used.keys(), ...keys]);
  return [...names].map(provider => {
    const notes = [
      ...(used.has(provider) ? [l10n.t('used as {0}', (used.get(provider) ?? []).join(', '))] : []),
      ...(kept.includes(provider) ? [l10n.t('replaces the key that is kept')] : []),
    ];
    return { label: provider, provider, ...(notes.length ? { description: notes.join(' · ') } : {}) };
  });
}

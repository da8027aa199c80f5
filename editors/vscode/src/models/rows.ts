/** Models and actions as rows of a list: plain data, tested without an editor. */

import { count } from '../memory/labels';
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
  const wrong = model.problem || (lastError ? `Last error: ${lastError}` : '');
  const hosts = destinations.map(({ host, local }) => (local ? `${host} (this machine)` : host));
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
    isAllowed(model) ? 'allowed' : 'not allowed yet',
    hasKey ? 'has a key' : 'no key found',
    `${count(requests, 'request')}, $${dollars.toFixed(4)} so far`,
  ];
  return [
    ...(destinations.length ? remote : ['runs inside Carrel, nothing is sent']),
    ...(answeredMs === undefined ? [] : [`answered in ${Math.round(answeredMs)} ms`]),
  ];
}

function isAllowed({ destinations }: ProviderModel): boolean {
  return destinations.every(({ allowed }) => allowed);
}

export const ACTIONS: readonly Row[] = [
  { label: '$(key) Enter Key…', action: 'enterKey' },
  { label: '$(trash) Remove Key…', action: 'removeKey' },
  { label: '$(debug-start) Test', action: 'check', description: 'asks each model for as little as it can answer' },
  { label: '$(gear) Open Settings', action: 'settings' },
];

/** What may have a key: the providers in use first. */
export function keyRows({ models, keys }: ProvidersResult, kept: readonly string[]): Row[] {
  const used = new Map<string, string[]>();
  for (const { provider, role, destinations } of models)
    if (destinations.length) used.set(provider, [...(used.get(provider) ?? []), role]);
  const names = new Set([...used.keys(), ...keys]);
  return [...names].map(provider => {
    const notes = [
      ...(used.has(provider) ? [`used as ${(used.get(provider) ?? []).join(', ')}`] : []),
      ...(kept.includes(provider) ? ['replaces the key that is kept'] : []),
    ];
    return { label: provider, provider, ...(notes.length ? { description: notes.join(' · ') } : {}) };
  });
}

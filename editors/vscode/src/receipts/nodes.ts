/** A receipt as plain data: what went in front of the question, from where, why, what it cost, what was left out. */

import { l10n } from 'vscode';
import type { ContextResult, DroppedResult, HitResult, SentResult } from '../protocol';
import type { Node } from '../memory/nodes';
import { count, numeral } from '../memory/labels';
import { isWholeFile, overlap, type Outcome, type Place, type Receipt } from './receipts';
import { shortNames, sum, why, type Surroundings } from './why';

/** A node that stands for a place; the receipt's commands act on it. */
export interface PlaceNode extends Node {
  readonly place: Place;
}

/** The server's reason for what a person removed: that stands under a heading of its own. */
const LEFT_OUT = 'left out of this question';

export function receiptNodes(receipt: Receipt | undefined, pinned: readonly string[], removed: readonly Place[]): Node[] {
  if (!receipt) return [];
  const { pack, question, inFront } = receipt;
  const nodes: Node[] = [
    { id: 'question', label: question.text, description: became(receipt), icon: 'comment', tooltip: question.text },
  ];
  if (pack.rewritten) nodes.push({ id: 'rewritten', label: pack.rewritten, description: l10n.t('searched for'), icon: 'edit' });
  if (pack.error) nodes.push({ id: 'error', label: pack.error, icon: 'warning' });
  nodes.push({ id: 'budget', label: l10n.t('Budget'), description: spent(pack), icon: 'dashboard', tooltip: stages(pack) });
  if (!pack.error && (pack.state !== 'ready' || pack.pending)) {
    nodes.push({
      id: 'state',
      label: l10n.t('The index was not complete'),
      description: l10n.t('{0}, {1} waiting', pack.state, count(pack.pending, 'file')),
      icon: 'info',
    });
  }
  if (pack.routes?.length || pack.notSearched?.length) nodes.push(sourcesNode(pack));
  if (pack.sent?.length) nodes.push(sentNode(pack.sent));
  const names = shortNames(pack.hits.map(({ path }) => path)); // a view is narrow: the tooltip has the folders
  const nodeOf = (hit: HitResult): PlaceNode => hitNode(hit, names, { inFront, pinned }, isIn(removed, hit));
  nodes.push(...pack.hits.map((hit, i) => ({ ...nodeOf(hit), open: i === 0 })));
  if (!pack.hits.length)
    nodes.push({ id: 'nothing', label: l10n.t('No place of the project goes with this question'), icon: 'circle-slash' });
  if (pack.confidence !== undefined) {
    nodes.push({
      id: 'confidence',
      label: l10n.t('Confidence'),
      description: numeral(pack.confidence, 2),
      icon: 'pulse',
      tooltip: l10n.t('How sure it is that the project holds anything relevant at all, from 0 to 1. Near 0 nothing is sent.'),
    });
  }
  const elsewhere = removed.filter(place => !pack.hits.some(hit => overlap(hit, place)));
  if (elsewhere.length) {
    nodes.push({
      id: 'removed',
      label: l10n.t('Excluded by you'),
      description: count(elsewhere.length, 'place'),
      icon: 'trash',
      open: true,
      children: elsewhere.map((place, i) => {
        const label = isWholeFile(place) ? place.path : `${place.path}:${lines(place)}`;
        return placed({ id: `removed/${i}`, label, context: 'removed', icon: 'close' }, place);
      }),
    });
  }
  const dropped = pack.dropped.filter(({ reason }) => reason !== LEFT_OUT);
  if (dropped.length) {
    nodes.push({
      id: 'dropped',
      label: l10n.t('Left out'),
      description: count(dropped.length, 'place'),
      icon: 'exclude',
      children: dropped.map(droppedNode),
    });
  }
  return nodes;
}

/** One line for each of the last answers, for the Memory view. */
export function answerNodes(receipts: readonly Receipt[]): Node[] {
  return receipts.map(receipt => ({
    id: `answers/${receipt.pack.id}`,
    label: receipt.question.text,
    description: `${became(receipt)} · ${[count(receipt.pack.hits.length, 'place'), spent(receipt.pack)].join(l10n.t(', '))}`,
    icon: ICONS[receipt.question.from],
    command: { id: 'carrel.receipt.show', args: [receipt.pack.id] },
  }));
}

const ICONS = { chat: 'comment', agent: 'tools', command: 'search', review: 'checklist' } as const;

const OUTCOMES: Readonly<Record<Outcome, string>> = {
  waiting: l10n.t('not sent yet'),
  sent: l10n.t('sent'),
  notSent: l10n.t('not sent: you declined'),
  cancelled: l10n.t('cancelled'),
  failed: l10n.t('the model failed'),
  given: l10n.t('given to an agent'),
  found: l10n.t('shown to you, not sent'),
};

/** Who asked, and what became of it. */
function became({ question, outcome }: Receipt): string {
  return question.from === 'review' ? `/review, ${OUTCOMES[outcome]}` : OUTCOMES[outcome];
}

export function spent(pack: ContextResult): string {
  const { tokens, budgetTokens, budgetChars } = pack;
  if (budgetTokens !== undefined) return l10n.t('{0} of {1}', numeral(tokens), count(budgetTokens, 'token'));
  const used = count(tokens, 'token');
  return budgetChars === undefined ? used : l10n.t('{0}, limit {1}', used, count(budgetChars, 'character'));
}

/** Where the question went, with the reasons, and which sources nothing in it spoke for. */
function sourcesNode({ routes = [], notSearched = [] }: ContextResult): Node {
  const searched = routes.map(({ source, reason }, i) => ({
    id: `sources/${i}`,
    label: source,
    description: reason,
    icon: 'search',
  }));
  const others = notSearched.map(source => ({
    id: `sources/not/${source}`,
    label: source,
    description: l10n.t('not searched: nothing in the question speaks for it'),
    icon: 'circle-slash',
  }));
  return {
    id: 'sources',
    label: l10n.t('Sources'),
    description: routes.map(({ source }) => source).join(l10n.t(', ')),
    icon: 'library',
    children: [...searched, ...others],
  };
}

/** What went to which service while the places were looked for. */
function sentNode(sent: readonly SentResult[]): Node {
  return {
    id: 'sent',
    label: l10n.t('Sent'),
    description: [...new Set(sent.map(({ host }) => host))].join(l10n.t(', ')),
    icon: 'cloud-upload',
    open: true,
    children: sent.map(({ provider, host, what, requests, texts, bytes, cost }, i) => ({
      id: `sent/${i}`,
      label: l10n.t('{0} at {1}', provider, host),
      description: [
        what,
        count(requests, 'request'),
        count(texts, 'text'),
        count(bytes, 'byte'),
        cost ? `$${numeral(cost, 4)}` : undefined,
      ]
        .filter(Boolean)
        .join(' · '),
      icon: 'cloud',
    })),
  };
}

export function lines({ startLine, endLine }: { startLine: number; endLine: number }): string {
  return startLine === endLine ? String(startLine) : `${startLine}-${endLine}`;
}

/** The first line that says something: above many definitions stands a comment, which begins with a line of signs. */
export function firstLine(text: string): string {
  return (text.split('\n').find(line => /[\p{L}\p{N}]/u.test(line)) ?? text).trim();
}

function stages(pack: ContextResult): string {
  const each = Object.entries(pack.stages).map(([name, ms]) => `${name} ${numeral(ms, 1)} ms`);
  return [`${count(pack.tokens, 'token')} (${pack.tokenizer}), ${numeral(pack.elapsedMs, 0)} ms`, ...each].join('\n');
}

function hitNode(hit: HitResult, names: ReadonlyMap<string, string>, around: Surroundings, removed: boolean): PlaceNode {
  const pinned = around.pinned?.includes(hit.uri) ?? false;
  const sentence = why(hit, around);
  const name = names.get(hit.path) ?? hit.path;
  const notes = [
    hit.folder && name !== hit.path ? hit.path.slice(0, hit.path.indexOf('/')) : undefined,
    hit.attached ? l10n.t('chosen by you') : numeral(hit.score, 2),
    removed ? l10n.t('excluded by you') : undefined,
    hit.masked ? l10n.t('{0} hidden', count(hit.masked, 'secret')) : undefined,
    sentence,
  ];
  return placed(
    {
      id: `hit/${hit.id}`,
      label: `${name}:${lines(hit)}`,
      description: notes.filter(Boolean).join(' · '),
      tooltip: [`${hit.path}:${lines(hit)}`, sentence, ...(hit.text ? ['', hit.text] : [])].join('\n'),
      icon: pinned ? 'pinned' : hit.attached ? 'selection' : hit.source === 'docs' ? 'book' : 'symbol-method',
      context: removed ? 'removed' : pinned ? 'pinnedHit' : 'hit',
      command: open(hit),
      children: reasons(hit, sentence),
    },
    hit,
  );
}

function reasons(hit: HitResult, sentence: string): Node[] {
  const id = `hit/${hit.id}`;
  const parts = sum(hit);
  const nodes: Node[] = [{ id: `${id}/why`, label: sentence, icon: 'info', tooltip: sentence }];
  if (!hit.attached && parts.length) {
    nodes.push({
      id: `${id}/score`,
      label: l10n.t('How the score adds up'),
      description: numeral(hit.score, 2),
      icon: 'graph',
      children: parts.map(([share, words], i) => ({ id: `${id}/score/${i}`, label: share, description: words })),
    });
  }
  return nodes;
}

function droppedNode(dropped: DroppedResult, i: number): Node {
  const { path, startLine, reason } = dropped;
  return {
    id: `dropped/${i}`,
    label: startLine ? `${path}:${lines(dropped)}` : path,
    description: reason,
    tooltip: `${path}: ${reason}`,
    icon: 'dash',
  };
}

function isIn(places: readonly Place[], place: Place): boolean {
  return places.some(one => overlap(one, place));
}

function placed(node: Node, { uri, path, startLine, endLine }: Place): PlaceNode {
  return { ...node, place: { uri, path, startLine, endLine } };
}

function open(hit: HitResult): { id: string; args: readonly unknown[] } {
  const { uri, path, startLine, endLine } = hit;
  return { id: 'carrel.receipt.open', args: [{ place: { uri, path, startLine, endLine } }] };
}

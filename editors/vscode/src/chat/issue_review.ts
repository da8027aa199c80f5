/** `/review`: the server reviews an issue with the model that the person chose; here its progress and its answer are shown. */

import * as vscode from 'vscode';
import { currentFolder } from '../context_client';
import type { Memory } from '../memory/memory';
import { count } from '../memory/labels';
import type { CompleteParams, CompleteResult, ContextResult, ReviewPlace, ReviewResult, ReviewStep } from '../protocol';
import type { Details, Outcome, Receipts } from '../receipts/receipts';
import { reviewPack } from '../receipts/review_pack';
import type { ReviewListener } from '../server/connection';
import type { Supervisor } from '../server/supervisor';
import { configuration } from '../settings';
import { CitationStream } from './citations';
import type { Exchange } from './conversation';
import { complete } from './lent_model';
import { isConfigured } from './own_models';
import { foldersOf, link, location, write } from './places';
import { NOT_REVIEWED, notComplete } from './prompt';
import { receiptLink } from './receipt_link';
import { HOW_TO_REVIEW, issueOf, reviewText, unusableText } from './review_text';

export class IssueReview {
  constructor(
    private readonly server: Supervisor,
    private readonly memory: Memory,
    private readonly receipts: Receipts,
  ) {}

  /** `turn` is filled with the issue and the model's answer. */
  async answer(
    { prompt, model }: Pick<vscode.ChatRequest, 'prompt' | 'model'>,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turn: Exchange,
  ): Promise<void> {
    const issue = issueOf(prompt);
    if (!issue.title) {
      stream.markdown(HOW_TO_REVIEW);
      return;
    }
    const set = isConfigured(model);
    if (set && configuration().get<boolean>('chat.reviewBeforeSending')) {
      stream.markdown(NOT_REVIEWED);
      return;
    }
    stream.progress(vscode.l10n.t('Reading the issue'));
    await this.memory.look();
    const folder = currentFolder();
    const params = {
      ...issue,
      ...(set ? {} : { model: model.family, maxTokens: model.maxInputTokens }),
      waitMs: this.memory.waitMs,
      ...(folder ? { workspaceFolder: folder } : {}),
    };
    const talk = new Talk(model, stream);
    try {
      const listener = set ? { step: (step: ReviewStep) => talk.step(step) } : talk;
      const result = await this.server.review(params, listener, token);
      turn.asked = prompt.trim();
      turn.said = result.review ? reviewText(result.review) : '';
      show(result, stream);
      stream.markdown(receiptLink(this.keep(prompt, params, talk, 'sent', result)));
    } catch (error) {
      if (talk.refused) this.keep(prompt, params, talk, 'notSent');
      else if (talk.places.length) this.keep(prompt, params, talk, token.isCancellationRequested ? 'cancelled' : 'failed');
      throw error;
    }
  }

  /** One receipt for the whole review, with every place that the model was given. */
  private keep(
    prompt: string,
    { model, workspaceFolder }: Details,
    { places }: Talk,
    outcome: Outcome,
    result?: ReviewResult,
  ): ContextResult {
    const details = { ...(model ? { model } : {}), ...(workspaceFolder ? { workspaceFolder } : {}) };
    const pack = reviewPack(prompt.trim(), result?.places ?? places, result);
    this.receipts.add({ question: { text: prompt.trim(), from: 'review' }, details, pack, outcome, at: new Date() });
    return pack;
  }
}

/** The server's partner while it reviews one issue. */
class Talk implements ReviewListener {
  /** What was found so far, each place once. */
  readonly places: ReviewPlace[] = [];
  /** Whether the person didn't want it sent. */
  refused = false;
  private readonly shown = new Set<string>();
  private unseen: ReviewPlace[] = [];

  constructor(
    private readonly model: vscode.LanguageModelChat,
    private readonly stream: vscode.ChatResponseStream,
  ) {}

  async complete(params: CompleteParams, token: vscode.CancellationToken): Promise<CompleteResult> {
    await this.allowed();
    return complete(this.model, params, vscode.l10n.t('To review an issue of this project'), token);
  }

  step({ kind, query = '', places = [], text = '', answer, problem = '' }: ReviewStep): void {
    if (kind === 'searchStarted') this.stream.progress(vscode.l10n.t('Searching: {0}', query));
    else if (kind === 'searchFinished') this.found(places);
    else if (kind === 'askedAgain')
      this.stream.progress(vscode.l10n.t("Asking again, since the answer can't be used: {0}", problem));
    else if (answer) this.stream.progress(vscode.l10n.t('Checking the answer'));
    else this.stream.markdown(`${text}\n\n`);
  }

  private found(places: readonly ReviewPlace[]): void {
    this.stream.progress(places.length ? count(places.length, 'place') : vscode.l10n.t('Nothing found'));
    for (const place of places) {
      const key = `${place.uri}:${place.startLine}-${place.endLine}`;
      if (this.shown.has(key)) continue;
      this.shown.add(key);
      this.unseen.push(place);
      this.places.push(place);
      this.stream.reference(location(place.uri, place.startLine, place.endLine));
    }
  }

  /** Who wants to see what is sent is asked before each search's places go to the model; no is the end of the review. */
  private async allowed(): Promise<void> {
    const places = this.unseen;
    this.unseen = [];
    if (!places.length || !configuration().get<boolean>('chat.reviewBeforeSending')) return;
    const detail = places.map(({ path, startLine, endLine }) => `${path}:${startLine}-${endLine}`).join('\n');
    const question = vscode.l10n.t('Send {0} to {1}?', count(places.length, 'place'), this.model.name);
    this.refused =
      (await vscode.window.showInformationMessage(question, { modal: true, detail }, vscode.l10n.t('Send'))) === undefined;
    if (this.refused) throw new vscode.CancellationError();
  }
}

function show(result: ReviewResult, stream: vscode.ChatResponseStream): void {
  if (result.pending) stream.markdown(`> ${notComplete(result.pending)}\n\n`);
  if (!result.review) {
    stream.markdown(unusableText(result.problem ?? '', result.rawText ?? ''));
    return;
  }
  const citations = new CitationStream(result.places);
  const folders = foldersOf(result.places);
  write([...citations.push(reviewText(result.review)), ...citations.end()], stream, folders);
  const { chunksUsed } = result.review;
  const based = vscode.l10n.t('**Based on {0}**, from {1}', count(chunksUsed, 'place'), count(result.searches, 'search'));
  stream.markdown(`\n\n${based}\n`);
  for (const { uri, startLine, endLine, symbol } of result.places) {
    stream.markdown('\n- ');
    link({ uri, startLine, endLine }, stream, folders);
    if (symbol) stream.markdown(` \`${symbol}\``);
  }
}

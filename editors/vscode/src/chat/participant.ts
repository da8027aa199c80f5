/** `@carrel`: answers with the model that the person chose, from the pages that the server picked. */

import * as vscode from 'vscode';
import { activeSelection, type ContextClient } from '../context_client';
import { isCancelled, localFolders, summary, type Memory } from '../memory/memory';
import { count } from '../memory/labels';
import type { AugmentResult, ContextResult, DroppedResult, LinesParam } from '../protocol';
import { lines } from '../receipts/nodes';
import { overlap, type Details, type Outcome, type Place, type Question, type Receipts } from '../receipts/receipts';
import type { Lent } from '../server/connection';
import { messageOf } from '../server/supervisor';
import { budget, configuration } from '../settings';
import { CitationStream, unsupported } from './citations';
import { conversation, withPlaces, type Exchange } from './conversation';
import { exchangesOf } from './history';
import type { IssueReview } from './issue_review';
import { complete } from './lent_model';
import { chipNames, linesOf, location, placeText, write } from './places';
import { historyRoom, INSTRUCTIONS, smallerBudget, wording } from './prompt';
import { receiptLink } from './receipt_link';
import { review } from './review';
import type { ToolChat } from './tool_chat';

export class Participant {
  constructor(
    private readonly contextClient: ContextClient,
    private readonly memory: Memory,
    private readonly receipts: Receipts,
    private readonly issues: IssueReview,
    private readonly tools: ToolChat,
  ) {}

  register(icon: vscode.Uri): vscode.Disposable {
    const participant = vscode.chat.createChatParticipant('carrel.carrel', (...turn) => this.answer(...turn));
    participant.iconPath = icon;
    return participant;
  }

  private async answer(
    request: vscode.ChatRequest,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    const metadata: Exchange = { asked: '', said: '' };
    try {
      if (!localFolders().length) stream.markdown('Open a folder first: Carrel answers from the files of a project.');
      else if (request.command === 'index') await this.index(stream, token);
      else if (request.command === 'review') await this.issues.answer(request, stream, token, metadata);
      else if (request.command === 'tools') await this.tools.answer(request, context, stream, token, metadata);
      else await this.ask(request, context, stream, token, metadata);
      return { metadata };
    } catch (error) {
      if (isCancelled(error) || token.isCancellationRequested) return { metadata };
      return { metadata, errorDetails: { message: messageOf(error) } };
    }
  }

  private async index(stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<void> {
    stream.progress('Indexing the project');
    const results = await this.memory.index(undefined, token);
    stream.markdown(`${results.length ? summary(results) : this.memory.cancelled()}.`);
  }

  /** `turn` is filled as far as the turn gets: what was asked of the model, and what it said. */
  private async ask(
    request: vscode.ChatRequest,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turn: Exchange,
  ): Promise<void> {
    const asked = wording(request.prompt, request.command, selectedText());
    if (!asked) {
      stream.markdown('What would you like to know about this project?');
      return;
    }
    stream.progress(
      this.memory.state.all.some(({ files }) => files)
        ? 'Looking through the project'
        : 'Indexing the project for its first answer',
    );
    const history = conversation(exchangesOf(context), historyRoom(request.model.maxInputTokens));
    const attached = attachments(request);
    const files = attached.flatMap(fileOf).map(uri => uri.toString());
    const places = attached.flatMap(placeOf).map(linesOf);
    const smaller = smallerBudget(budget(), request.model.maxInputTokens);
    const question: Question = { ...asked, from: 'chat' };
    const details: Details = {
      model: request.model.family,
      window: request.model.maxInputTokens,
      history,
      files,
      places,
      ...(smaller ? { budget: smaller } : {}),
      ...(request.command === 'docs' ? { filters: { sources: ['docs'] } } : {}),
    };
    const chosen = [...files.map(uri => vscode.Uri.parse(uri, true)), ...attached.flatMap(placeOf)].map(placeText);
    if (request.command === 'search') {
      const pack = await this.contextClient.context(question, details, token);
      show(pack, stream);
      turn.asked = withPlaces(asked.text, 'Carrel listed', pack.hits.map(named));
      return;
    }
    const lent: Lent = {
      complete: (params, asking) => complete(request.model, params, 'To say your question in the words of this project', asking),
    };
    const given = await this.reviewed(question, details, lent, token);
    if (!given) return;
    turn.asked = withPlaces(asked.text, 'attached', chosen);
    tell(given.pack, stream);
    for (const notice of notGiven(given.pack, [...selectedPlaces(), ...places])) stream.markdown(`> ${notice}\n\n`);
    const outcome = await this.converse(
      request,
      [...history, { role: 'user', content: given.text }],
      given.pack,
      stream,
      token,
      turn,
    );
    this.receipts.become(given.pack.id, outcome);
    stream.markdown(receiptLink(given.pack));
  }

  /** The question with its pages, which the person has seen and allowed if they wish to; undefined when nothing shall be sent. */
  private async reviewed(
    question: Question,
    details: Details,
    lent: Lent,
    token: vscode.CancellationToken,
  ): Promise<AugmentResult | undefined> {
    // Nothing goes to the model before the person has seen it.
    if (!configuration().get<boolean>('chat.reviewBeforeSending'))
      return this.contextClient.augment(question, details, token, { lent });
    let given = await this.contextClient.augment(question, details, token);
    const seen: Place[] = [];
    // What was taken out makes room for other places, which nobody has seen yet.
    while (!given.pack.hits.every(hit => seen.some(place => isWithin(hit, place)))) {
      const removed = await review(given.pack, this.receipts.shown, token);
      if (!removed) {
        this.receipts.become(given.pack.id, 'notSent');
        return undefined;
      }
      if (!removed.length) return given;
      seen.push(...given.pack.hits);
      for (const hit of removed) this.receipts.remove(question.text, hit);
      given = await this.contextClient.augment(question, details, token, { instead: given.pack.id });
    }
    return given;
  }

  private async converse(
    request: vscode.ChatRequest,
    turns: Details['history'],
    pack: ContextResult,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turn: Exchange,
  ): Promise<Outcome> {
    const messages = [{ role: 'user', content: INSTRUCTIONS }, ...(turns ?? [])].map(({ role, content }) =>
      role === 'user' ? vscode.LanguageModelChatMessage.User(content) : vscode.LanguageModelChatMessage.Assistant(content),
    );
    try {
      const response = await request.model.sendRequest(
        messages,
        { justification: 'To answer your question about this project' },
        token,
      );
      const citations = new CitationStream(pack.hits.filter(hit => !hit.notLocal));
      const names = chipNames(pack.hits);
      for await (const fragment of response.text) {
        turn.said += fragment;
        write(citations.push(fragment), stream, names);
      }
      write(citations.end(), stream, names);
    } catch (error) {
      this.receipts.become(pack.id, token.isCancellationRequested ? 'cancelled' : 'failed');
      throw error;
    }
    const warning = unsupported(await this.contextClient.citations(pack, turn.said, token));
    if (warning) stream.markdown(warning);
    return token.isCancellationRequested ? 'cancelled' : 'sent';
  }
}

/** The places that the answer stands on, and what a person should know about them. */
function tell(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  for (const hit of pack.hits) if (!hit.notLocal) stream.reference(location(hit.uri, hit.startLine, hit.endLine));
  if (pack.error) stream.markdown(`> ${pack.error}\n\n`);
  else if (pack.pending) stream.markdown(`> The index isn't complete: ${count(pack.pending, 'file')} to go.\n\n`);
  else if (!pack.hits.length) stream.markdown('> Nothing in the project fits this question.\n\n');
}

/** `/search`: places, no model. */
function show(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  tell(pack, stream);
  for (const hit of pack.hits) {
    stream.markdown(`\n- ${hit.score.toFixed(2)} `);
    const place = `${hit.path}:${hit.startLine}`;
    if (hit.notLocal) stream.markdown(`\`${place}\``);
    else stream.anchor(location(hit.uri, hit.startLine, hit.endLine), place);
    if (hit.symbol) stream.markdown(` \`${hit.symbol}\``);
  }
  stream.markdown('\n');
  stream.markdown(receiptLink(pack));
}

function named({ path, startLine, endLine }: Place): string {
  return `${path}:${lines({ startLine, endLine })}`;
}

function isWithin(one: Place, other: Place): boolean {
  return overlap(one, other) && other.startLine <= one.startLine && one.endLine <= other.endLine;
}

function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.document.getText(editor.selection) : '';
}

function selectedPlaces(): LinesParam[] {
  const selection = activeSelection();
  return selection ? [linesOf(selection)] : [];
}

/** What the person chose that the context doesn't hold, and why, in a sentence each. */
function notGiven({ hits, dropped, error }: ContextResult, chosen: readonly LinesParam[]): string[] {
  if (error) return [];
  const missing = chosen.filter(
    ({ uri, startLine, endLine }) => !hits.some(hit => overlap(hit, { uri, path: '', startLine, endLine })),
  );
  const named = new Set(
    missing.map(place => {
      const { uri, startLine, endLine } = place;
      const path = vscode.workspace.asRelativePath(vscode.Uri.parse(uri, true), false);
      const isIt = (drop: DroppedResult): boolean =>
        drop.path === uri || (drop.path === path && (!drop.endLine || (drop.startLine <= endLine && startLine <= drop.endLine)));
      const reason = dropped.find(isIt)?.reason ?? 'it lies outside the folder that was asked';
      return `${path}:${lines({ startLine, endLine })} was not sent: ${reason}.`;
    }),
  );
  return [...named];
}

function placeOf({ value }: vscode.ChatPromptReference): vscode.Location[] {
  return value instanceof vscode.Location && value.uri.scheme === 'file' ? [value] : [];
}

/**
 * What was attached with `#file`, `#sym` or by dragging: files, and lines of files. Instructions for agents (AGENTS.md, CLAUDE.md, …), which the
 * editor attaches to every request by itself, were chosen by nobody and would take the room of places that answer.
 */
function attachments(request: vscode.ChatRequest): readonly vscode.ChatPromptReference[] {
  return request.references.filter(({ id }) => !id.startsWith('vscode.instructions.'));
}

function fileOf({ value }: vscode.ChatPromptReference): vscode.Uri[] {
  return value instanceof vscode.Uri && value.scheme === 'file' ? [value] : [];
}

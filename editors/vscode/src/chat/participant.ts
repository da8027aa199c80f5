/** `@carrel`: answers with the model that the person chose, from the pages that the server picked. */

import * as vscode from 'vscode';
import type { ContextClient } from '../context_client';
import { isCancelled, localFolders, summary, type Memory } from '../memory/memory';
import { count } from '../memory/labels';
import type { AugmentResult, ContextResult, HistoryTurn } from '../protocol';
import { spent } from '../receipts/nodes';
import { overlap, type Details, type Place, type Receipts } from '../receipts/receipts';
import { messageOf } from '../server/supervisor';
import { configuration } from '../settings';
import { CitationStream, unsupported } from './citations';
import type { IssueReview } from './issue_review';
import { location, write } from './places';
import { INSTRUCTIONS, questionOf, recent } from './prompt';
import { review } from './review';

export class Participant {
  constructor(
    private readonly contextClient: ContextClient,
    private readonly memory: Memory,
    private readonly receipts: Receipts,
    private readonly issues: IssueReview,
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
    try {
      if (!localFolders().length) stream.markdown('Open a folder first: Carrel answers from the files of a project.');
      else if (request.command === 'index') await this.index(stream, token);
      else if (request.command === 'review') await this.issues.answer(request, stream, token);
      else await this.ask(request, context, stream, token);
      return {};
    } catch (error) {
      if (isCancelled(error) || token.isCancellationRequested) return {};
      return { errorDetails: { message: messageOf(error) } };
    }
  }

  private async index(stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<void> {
    stream.progress('Indexing the project');
    const results = await this.memory.index(undefined, token);
    stream.markdown(results.length ? `${summary(results)}.` : 'Stopped; what was finished is kept.');
  }

  private async ask(
    request: vscode.ChatRequest,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const text = questionOf(request.prompt, request.command, selectedText());
    if (!text) {
      stream.markdown('What would you like to know of this project?');
      return;
    }
    stream.progress(
      this.memory.state.all.some(({ files }) => files)
        ? 'Looking through the project'
        : 'Indexing the project for its first answer',
    );
    const history = turnsOf(context);
    const details: Details = {
      model: request.model.family,
      window: request.model.maxInputTokens,
      history,
      attached: attachedUris(request),
      ...(request.command === 'docs' ? { filters: { sources: ['docs'] } } : {}),
    };
    if (request.command === 'search') {
      show(await this.contextClient.context({ text, from: 'chat' }, details, token), stream);
      return;
    }
    const given = await this.reviewed(text, details, token);
    if (!given) return;
    tell(given.pack, stream);
    await this.converse(request, [...history, { role: 'user', content: given.text }], given.pack, stream, token);
    stream.button(receiptButton(given.pack));
  }

  /** The question with its pages, which the person has seen and allowed if they wish to; undefined when nothing shall be sent. */
  private async reviewed(text: string, details: Details, token: vscode.CancellationToken): Promise<AugmentResult | undefined> {
    const ask = (): Promise<AugmentResult> => this.contextClient.augment({ text, from: 'chat' }, details, token);
    let given = await ask();
    if (!configuration().get<boolean>('chat.reviewBeforeSending')) return given;
    const seen: Place[] = [];
    // What was taken out makes room for other places, which nobody has seen yet.
    while (!given.pack.hits.every(hit => seen.some(place => isWithin(hit, place)))) {
      const removed = await review(given.pack, token);
      if (!removed) return undefined;
      if (!removed.length) return given;
      seen.push(...given.pack.hits);
      for (const hit of removed) this.receipts.remove(text, hit);
      given = await ask();
    }
    return given;
  }

  private async converse(
    request: vscode.ChatRequest,
    turns: readonly HistoryTurn[],
    pack: ContextResult,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const messages = [{ role: 'user', content: INSTRUCTIONS }, ...turns].map(({ role, content }) =>
      role === 'user' ? vscode.LanguageModelChatMessage.User(content) : vscode.LanguageModelChatMessage.Assistant(content),
    );
    const response = await request.model.sendRequest(
      messages,
      { justification: 'To answer your question about this project' },
      token,
    );
    const citations = new CitationStream(pack.hits);
    let answer = '';
    for await (const fragment of response.text) {
      answer += fragment;
      write(citations.push(fragment), stream);
    }
    write(citations.end(), stream);
    const warning = unsupported(await this.contextClient.citations(pack, answer, token));
    if (warning) stream.markdown(warning);
  }
}

/** The places that the answer stands on, and what a person should know about them. */
function tell(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  for (const hit of pack.hits) stream.reference(location(hit.uri, hit.startLine, hit.endLine));
  if (pack.error) stream.markdown(`> ${pack.error}\n\n`);
  else if (pack.pending) stream.markdown(`> The index isn't complete: ${count(pack.pending, 'file')} to go.\n\n`);
  else if (!pack.hits.length) stream.markdown('> Nothing in the project fits this question.\n\n');
}

/** `/search`: places, no model. */
function show(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  tell(pack, stream);
  for (const hit of pack.hits) {
    stream.markdown(`\n- ${hit.score.toFixed(2)} `);
    stream.anchor(location(hit.uri, hit.startLine, hit.endLine), `${hit.path}:${hit.startLine}`);
    if (hit.symbol) stream.markdown(` \`${hit.symbol}\``);
  }
  stream.markdown('\n');
  stream.button(receiptButton(pack));
}

function receiptButton(pack: ContextResult): vscode.Command {
  return {
    command: 'carrel.receipt.show',
    title: `Receipt: ${count(pack.hits.length, 'place')}, ${spent(pack)}`,
    arguments: [pack.id],
  };
}

function isWithin(one: Place, other: Place): boolean {
  return overlap(one, other) && other.startLine <= one.startLine && one.endLine <= other.endLine;
}

function selectedText(): string {
  const editor = vscode.window.activeTextEditor;
  return editor ? editor.document.getText(editor.selection) : '';
}

/** Files that were attached with `#file` or by dragging. */
function attachedUris(request: vscode.ChatRequest): string[] {
  return request.references.flatMap(({ value }) => {
    const uri = value instanceof vscode.Uri ? value : value instanceof vscode.Location ? value.uri : undefined;
    return uri?.scheme === 'file' ? [uri.toString()] : [];
  });
}

function turnsOf(context: vscode.ChatContext): readonly HistoryTurn[] {
  const turns = context.history.map(turn => {
    if (turn instanceof vscode.ChatRequestTurn) return { role: 'user', content: turn.prompt };
    const parts = turn.response.map(part => (part instanceof vscode.ChatResponseMarkdownPart ? part.value.value : ''));
    return { role: 'assistant', content: parts.join('') };
  });
  return recent(turns);
}

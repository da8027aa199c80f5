/** `/tools`, and each question to the model that is set: the server answers with its tools; here its progress and its answer are shown. */

import * as vscode from 'vscode';
import { attachedFolder, currentFolder, type ContextClient } from '../context_client';
import type { ChatMessage, ChatPlace, ChatResult, ChatStep, HistoryTurn } from '../protocol';
import type { Details, Question } from '../receipts/receipts';
import type { Lent } from '../server/connection';
import type { Supervisor } from '../server/supervisor';
import { configuration } from '../settings';
import { CitationStream, unsupported } from './citations';
import type { Exchange } from './conversation';
import { foldersOf, location, write } from './places';
import { NOT_REVIEWED } from './prompt';
import { receiptLink } from './receipt_link';

export class ToolChat {
  constructor(
    private readonly server: Supervisor,
    private readonly contextClient: ContextClient,
  ) {}

  /** `lent` is the editor's model; without one the server asks the model that is set. `turn` is filled with the model's answer. */
  async answer(
    question: Question,
    details: Details,
    lent: Lent | undefined,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turn: Exchange,
  ): Promise<void> {
    if (configuration().get<boolean>('chat.reviewBeforeSending')) {
      stream.markdown(NOT_REVIEWED);
      turn.asked = '';
      return;
    }
    const shown: ChatPlace[] = [];
    const step = (one: ChatStep): void => {
      shown.push(...(one.places ?? []));
      const text = progressOf(one);
      if (text) stream.progress(text);
    };
    const result = await this.ask(question, details, { ...(lent ?? {}), step }, token);
    turn.said = result.text;
    show(result, shown, stream);
    stream.markdown(receiptLink(result.pack));
  }

  /** What the model that is set says to a conversation, which ends with the question. */
  async complete(messages: readonly ChatMessage[], token: vscode.CancellationToken): Promise<string> {
    if (configuration().get<boolean>('chat.reviewBeforeSending')) return NOT_REVIEWED;
    const text = messages.at(-1)?.content ?? '';
    const listener = { step: () => undefined };
    return (await this.ask({ text, from: 'chat' }, { history: messages.slice(0, -1) }, listener, token)).text;
  }

  private async ask(
    question: Question,
    { history = [], model, window, ...given }: Details,
    listener: Partial<Lent> & { step(step: ChatStep): void },
    token: vscode.CancellationToken,
  ): Promise<ChatResult> {
    const folder = attachedFolder(given) ?? currentFolder(); // a conversation with tools is about one
    const details = {
      ...given,
      ...(folder ? { workspaceFolder: folder } : {}),
      ...(listener.complete && model ? { model } : {}),
    };
    const params = await this.contextClient.prepare(question, details);
    const messages = [...history.map(asMessage), { role: 'user', content: question.text } as const];
    const size = listener.complete && window ? { maxTokens: window } : {};
    const result = await this.server.chat({ ...params, ...size, messages }, listener, token);
    this.contextClient.keep(question, details, params, result.pack, 'sent');
    return result;
  }
}

function asMessage({ role, content }: HistoryTurn): ChatMessage {
  return { role: role === 'assistant' ? 'assistant' : 'user', content };
}

function progressOf({ kind, tool = '', problem = '' }: ChatStep): string {
  if (kind === 'toolStarted') return tool;
  if (kind === 'toolRefused') return vscode.l10n.t('{0} was not run: {1}', tool, problem);
  return kind === 'askedAgain' ? vscode.l10n.t("Asking again, since the answer can't be used: {0}", problem) : '';
}

function show(
  { text, pack, citations, problem }: ChatResult,
  shown: readonly ChatPlace[],
  stream: vscode.ChatResponseStream,
): void {
  const given = [...pack.hits.filter(hit => !hit.notLocal), ...shown];
  for (const { uri, startLine, endLine } of given) stream.reference(location(uri, startLine, endLine));
  if (pack.error) stream.markdown(`> ${pack.error}\n\n`);
  const places = new CitationStream(given);
  write([...places.push(text), ...places.end()], stream, foldersOf(given));
  const warning = unsupported(citations);
  if (warning) stream.markdown(warning);
  else if (problem) stream.markdown(`\n\n> ${problem}\n`);
}

/** `/tools`: the server answers with its tools and the model that the person chose; here its progress and its answer are shown. */

import * as vscode from 'vscode';
import { currentFolder } from '../context_client';
import type { Memory } from '../memory/memory';
import type { ChatMessage, ChatPlace, ChatResult, ChatStep, CompleteParams, CompleteResult } from '../protocol';
import type { Receipts } from '../receipts/receipts';
import type { ChatListener } from '../server/connection';
import type { Supervisor } from '../server/supervisor';
import { configuration } from '../settings';
import { CitationStream, unsupported } from './citations';
import { conversation, type Exchange } from './conversation';
import { exchangesOf } from './history';
import { complete } from './lent_model';
import { chipNames, location, write } from './places';
import { historyRoom } from './prompt';
import { receiptLink } from './receipt_link';

const WAIT_MS = 30_000;
const HOW_TO_ASK =
  'Say what shall be found out or done, such as `@carrel /tools restart the Phoenix server according to protocol`.';
const NOT_REVIEWED =
  'With tools the model itself decides what is looked up and sent to it, so nothing can be reviewed before. ' +
  'Ask without `/tools`, or turn the setting `carrel.chat.reviewBeforeSending` off.';

export class ToolChat {
  constructor(
    private readonly server: Supervisor,
    private readonly memory: Memory,
    private readonly receipts: Receipts,
  ) {}

  /** `turn` is filled with the question and the model's answer. */
  async answer(
    { prompt, model }: Pick<vscode.ChatRequest, 'prompt' | 'model'>,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
    turn: Exchange,
  ): Promise<void> {
    const question = prompt.trim();
    if (!question || configuration().get<boolean>('chat.reviewBeforeSending')) {
      stream.markdown(question ? NOT_REVIEWED : HOW_TO_ASK);
      return;
    }
    stream.progress('Looking through the project');
    await this.memory.ensureIndexed();
    const folder = currentFolder();
    const history = conversation(exchangesOf(context), historyRoom(model.maxInputTokens)).map(
      ({ role, content }): ChatMessage => ({ role: role === 'user' ? 'user' : 'assistant', content }),
    );
    const talk = new Talk(model, stream);
    const details = { model: model.family, ...(folder ? { workspaceFolder: folder } : {}) };
    turn.asked = question;
    const result = await this.server.chat(
      {
        ...details,
        messages: [...history, { role: 'user', content: question }],
        maxTokens: model.maxInputTokens,
        waitMs: WAIT_MS,
      },
      talk,
      token,
    );
    turn.said = result.text;
    show(result, talk.places, stream);
    this.receipts.add({
      question: { text: question, from: 'chat' },
      details,
      pack: result.pack,
      outcome: 'sent',
      at: new Date(),
    });
    stream.markdown(receiptLink(result.pack));
  }
}

/** The server's partner while it answers one question. */
class Talk implements ChatListener {
  /** What tools showed the model so far. */
  readonly places: ChatPlace[] = [];

  constructor(
    private readonly model: vscode.LanguageModelChat,
    private readonly stream: vscode.ChatResponseStream,
  ) {}

  complete(params: CompleteParams, token: vscode.CancellationToken): Promise<CompleteResult> {
    return complete(this.model, params, 'To answer your question with tools', token);
  }

  step({ kind, tool = '', places = [], problem = '' }: ChatStep): void {
    if (kind === 'toolStarted') this.stream.progress(tool);
    else if (kind === 'toolRefused') this.stream.progress(`${tool} was not run: ${problem}`);
    else if (kind === 'askedAgain') this.stream.progress(`Asking again, since the answer can't be used: ${problem}`);
    this.places.push(...places);
  }
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
  write([...places.push(text), ...places.end()], stream, chipNames(given));
  const warning = unsupported(citations);
  if (warning) stream.markdown(warning);
  else if (problem) stream.markdown(`\n\n> ${problem}\n`);
}

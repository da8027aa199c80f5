/** Chat models of Carrel's own, for who has no other: one that only lists places, and the one that the setting `carrel.models` names. */

import * as vscode from 'vscode';
import type { ContextClient } from '../context_client';
import { localFolders } from '../memory/memory';
import type { ChatMessage, ContextResult } from '../protocol';
import { lines } from '../receipts/nodes';
import type { Supervisor } from '../server/supervisor';
import { configuration } from '../settings';
import { NO_FOLDER, NO_WORDS, NOTHING_FITS, PLACES_FIT } from './prompt';
import type { ToolChat } from './tool_chat';

const VENDOR = 'carrel';
const PLACES = 'places';
const CONFIGURED = 'configured';

/** Of the API since VS Code 1.104, which is newer than the oldest editor that the extension runs in: what is used here. */
interface ModelInformation {
  readonly id: string;
  readonly name: string;
  readonly family: string;
  readonly version: string;
  readonly tooltip: string;
  readonly detail: string;
  readonly maxInputTokens: number;
  readonly maxOutputTokens: number;
  readonly capabilities: { readonly toolCalling: boolean };
}
interface RequestMessage {
  readonly role: vscode.LanguageModelChatMessageRole;
  readonly content: readonly unknown[];
}
interface ModelProvider {
  readonly onDidChangeLanguageModelChatInformation: vscode.Event<void>;
  provideLanguageModelChatInformation(): Promise<ModelInformation[]>;
  provideLanguageModelChatResponse(
    model: ModelInformation,
    messages: readonly RequestMessage[],
    options: unknown,
    progress: vscode.Progress<vscode.LanguageModelTextPart>,
    token: vscode.CancellationToken,
  ): Promise<void>;
  provideTokenCount(model: ModelInformation, text: string | RequestMessage): Promise<number>;
}
type Register = (vendor: string, provider: ModelProvider) => vscode.Disposable;

/** The server puts no more into one request; places alone take any question. */
const COMMON = {
  version: '1',
  maxInputTokens: 32_000,
  maxOutputTokens: 4_096,
  // The editor lists no other model where agents may answer, which is how its chat begins. No tool is ever called here.
  capabilities: { toolCalling: true },
};
const PLACES_ONLY: ModelInformation = {
  ...COMMON,
  id: PLACES,
  name: vscode.l10n.t('Carrel: places only'),
  family: 'carrel-places',
  detail: vscode.l10n.t('no language model'),
  tooltip: vscode.l10n.t(
    'Lists the places of this project that fit a question. It asks no language model and says nothing about what the places do.',
  ),
};

/** Whether an answer is a list of places: there is no model that could say more. */
export function isPlacesOnly({ vendor, id }: Pick<vscode.LanguageModelChat, 'vendor' | 'id'>): boolean {
  return vendor === VENDOR && id === PLACES;
}

/** Whether the server has the model, so that the editor need not lend it. */
export function isConfigured({ vendor, id }: Pick<vscode.LanguageModelChat, 'vendor' | 'id'>): boolean {
  return vendor === VENDOR && id === CONFIGURED;
}

export class OwnModels implements ModelProvider, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable[] = [this.emitter];
  /** Whether the editor has models of others: the list begins with Carrel's, so that one alone would take the place of theirs. */
  private others = true;
  readonly onDidChangeLanguageModelChatInformation = this.emitter.event;

  constructor(
    private readonly server: Supervisor,
    private readonly contextClient: ContextClient,
    private readonly tools: ToolChat,
  ) {
    const { registerLanguageModelChatProvider: register } = vscode.lm as { registerLanguageModelChatProvider?: Register };
    if (!register) return; // before VS Code 1.104
    this.disposables.push(
      register(VENDOR, this),
      server.onDidChangeState(({ kind }) => kind === 'running' && this.emitter.fire()),
      vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('carrel.models') && this.emitter.fire()),
      vscode.lm.onDidChangeChatModels(() => void this.lookForOthers()),
    );
    void this.lookForOthers(); // the chat's list has a model only after somebody asked for it
  }

  private async lookForOthers(): Promise<void> {
    const others = (await vscode.lm.selectChatModels()).some(({ vendor }) => vendor !== VENDOR);
    if (others === this.others) return;
    this.others = others;
    this.emitter.fire();
  }

  async provideLanguageModelChatInformation(): Promise<ModelInformation[]> {
    const name = await this.configured();
    const places = this.others ? [] : [PLACES_ONLY];
    if (!name) return places;
    const tooltip = vscode.l10n.t(
      'The chat model of the setting carrel.models. It answers from this project, with the tools of Carrel’s server.',
    );
    return [{ ...COMMON, id: CONFIGURED, name: `Carrel: ${name}`, family: name, detail: 'carrel.models', tooltip }, ...places];
  }

  /** What another participant asks; `@carrel` answers by itself, with links that the editor knows. */
  async provideLanguageModelChatResponse(
    model: Pick<ModelInformation, 'id'>,
    messages: readonly RequestMessage[],
    _options: unknown,
    progress: vscode.Progress<vscode.LanguageModelTextPart>,
    token: vscode.CancellationToken,
  ): Promise<void> {
    const said = messages.map(inWords).filter(({ content }) => content.trim());
    const question = said.at(-1);
    let text: string;
    if (!localFolders().length) text = NO_FOLDER;
    else if (question?.role !== 'user') text = NO_WORDS;
    else if (model.id === CONFIGURED) text = await this.tools.complete(said, token);
    else
      text = placesText(await this.contextClient.context({ text: question.content, from: 'chat' }, { format: 'places' }, token));
    progress.report(new vscode.LanguageModelTextPart(text));
  }

  /** About four characters a token: nothing is refused for its length here. */
  provideTokenCount(_model: ModelInformation, text: string | RequestMessage): Promise<number> {
    return Promise.resolve(Math.ceil((typeof text === 'string' ? text : inWords(text).content).length / 4));
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** The name of the chat model that is set: by the server, which also reads the person's own settings file, else by the editor's settings. */
  private async configured(): Promise<string | undefined> {
    // It may be going, or no folder be open.
    const told = await this.server.askRunning('carrel/providers', {}).catch(() => undefined);
    if (told) {
      const chat = told.models.find(({ role }) => role === 'chat');
      return chat && (chat.model || chat.provider);
    }
    const set = configuration().get<{ chat?: { provider?: string; model?: string } }>('models')?.chat;
    return set?.provider && (set.model ?? set.provider);
  }
}

function inWords({ role, content }: RequestMessage): ChatMessage {
  const text = content.map(part => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
  return { role: role === vscode.LanguageModelChatMessageRole.Assistant ? 'assistant' : 'user', content: text };
}

/** Places as Markdown, for participants that pass on what a model says. */
function placesText({ hits, error }: ContextResult): string {
  if (error) return error;
  if (!hits.length) return NOTHING_FITS;
  const rows = hits.map(hit => {
    const place = `${hit.path}:${lines(hit)}`;
    const target = `${hit.uri}#L${hit.startLine}-L${hit.endLine}`;
    return `- ${hit.notLocal ? `\`${place}\`` : `[${place.replace(/[[\]\\]/g, '\\$&')}](<${target}>)`}`;
  });
  return [PLACES_FIT, '', ...rows].join('\n');
}

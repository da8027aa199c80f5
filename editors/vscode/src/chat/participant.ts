/** `@carrel`: answers with the model that the person chose, from the pages that the server picked. */

import * as vscode from 'vscode';
import { activeSelection, type ContextClient } from '../context_client';
import { isCancelled, localFolders, summary, type Memory } from '../memory/memory';
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
import { foldersOf, linesOf, link, location, placeText, write } from './places';
import { isConfigured, isPlacesOnly } from './own_models';
import {
  historyRoom,
  HOW_TO_USE_TOOLS,
  INSTRUCTIONS,
  NO_FOLDER,
  NO_WORDS,
  notComplete,
  NOTHING_FITS,
  NOTHING_SELECTED,
  PLACES_FIT,
  smallerBudget,
  wording,
} from './prompt';
import { receiptLink } from './receipt_link';
import { review } from './review';
import type { ToolChat } from './tool_chat';

const NEED_A_MODEL: ReadonlySet<string | undefined> = new Set(['review', 'tools']);
/** What a command says that came without words. */
const WITHOUT_WORDS: Readonly<Record<string, string>> = { explain: NOTHING_SELECTED, tools: HOW_TO_USE_TOOLS };

export class Participant {
  constructor(
    private readonly contextClient: ContextClient,
    private readonly memory: Memory,
    private readonly receipts: Receipts,
    private readonly issues: IssueReview,
    private readonly tools: ToolChat,
  ) {}

  register(): vscode.Disposable {
    const participant = vscode.chat.createChatParticipant('carrel.carrel', (...turn) => this.answer(...turn));
    participant.iconPath = new vscode.ThemeIcon('library'); // drawn in the colours of each theme
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
      if (!localFolders().length) stream.markdown(NO_FOLDER);
      else if (request.command === 'index') await this.index(stream, token);
      else if (isPlacesOnly(request.model) && NEED_A_MODEL.has(request.command))
        stream.markdown(chooseAModel(vscode.l10n.t('This takes a chat model')));
      else if (request.command === 'review') await this.issues.answer(request, stream, token, metadata);
      else await this.ask(request, context, stream, token, metadata);
      return { metadata };
    } catch (error) {
      if (isCancelled(error) || token.isCancellationRequested) return { metadata };
      return { metadata, errorDetails: { message: messageOf(error) } };
    }
  }

  private async index(stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<void> {
    stream.progress(vscode.l10n.t('Indexing the project'));
    const results = await this.memory.indexUnseen(token);
    stream.markdown(vscode.l10n.t('{0}.', results.length ? summary(results) : this.memory.cancelled()));
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
      stream.markdown(WITHOUT_WORDS[request.command ?? ''] ?? NO_WORDS);
      return;
    }
    stream.progress(
      this.memory.hasIndex
        ? vscode.l10n.t('Looking through the project')
        : vscode.l10n.t('Indexing the project for its first answer'),
    );
    const history = conversation(exchangesOf(context), historyRoom(request.model.maxInputTokens));
    const attached = attachments(request);
    const [files, within] = await filesAndFolders(attached.flatMap(fileOf));
    const places = attached.flatMap(placeOf).map(linesOf);
    const smaller = smallerBudget(budget(), request.model.maxInputTokens);
    const question: Question = { ...asked, from: 'chat' };
    const details: Details = {
      model: request.model.family,
      window: request.model.maxInputTokens,
      history,
      files,
      places,
      within,
      ...(smaller ? { budget: smaller } : {}),
      ...(request.command === 'docs' ? { filters: { sources: ['docs'] } } : {}),
    };
    const chosen = [...attached.flatMap(fileOf), ...attached.flatMap(placeOf)].map(place =>
      placeText(place, uri => this.contextClient.pathOf(uri)),
    );
    const alone = isPlacesOnly(request.model);
    if (request.command === 'search' || alone) {
      const pack = await this.contextClient.context(question, details, token);
      show(pack, stream);
      if (alone) stream.markdown(chooseAModel(vscode.l10n.t('No chat model was asked')));
      // In an answer's words: as a person's own they would be searched for with the next question.
      Object.assign(turn, { asked: asked.text, said: said(pack) });
      return;
    }
    const set = isConfigured(request.model);
    const tools = request.command === 'tools';
    const purpose = tools
      ? vscode.l10n.t('To answer your question with tools')
      : vscode.l10n.t('To say your question in the words of this project');
    const lent: Lent = { complete: (params, asking) => complete(request.model, params, purpose, asking) };
    if (tools || set) {
      turn.asked = withPlaces(asked.text, 'attached', chosen);
      await this.tools.answer(question, details, set ? undefined : lent, stream, token, turn);
      return;
    }
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
        { justification: vscode.l10n.t('To answer your question about this project') },
        token,
      );
      const citations = new CitationStream(pack.hits.filter(hit => !hit.notLocal));
      const folders = foldersOf(pack.hits);
      for await (const fragment of response.text) {
        turn.said += fragment;
        write(citations.push(fragment), stream, folders);
      }
      write(citations.end(), stream, folders);
    } catch (error) {
      this.receipts.become(pack.id, token.isCancellationRequested ? 'cancelled' : 'failed');
      if (!token.isCancellationRequested) {
        if (turn.said) stream.markdown('\n\n');
        list(pack, stream); // the editor shows the error below
      }
      throw error;
    }
    if (!turn.said.trim() && !token.isCancellationRequested) {
      stream.markdown(`> ${vscode.l10n.t('The model gave no answer.')}\n\n`);
      list(pack, stream);
      turn.said = said(pack);
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
  else if (pack.pending) stream.markdown(`> ${notComplete(pack.pending)}\n\n`);
  else if (!pack.hits.length) stream.markdown(`> ${NOTHING_FITS}\n\n`);
}

/** Places, no model. */
function show(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  tell(pack, stream);
  list(pack, stream);
  stream.markdown(receiptLink(pack));
}

/** What stands in for an answer in words. */
function list(pack: ContextResult, stream: vscode.ChatResponseStream): void {
  if (pack.hits.length) stream.markdown(`${PLACES_FIT}\n`);
  const folders = foldersOf(pack.hits);
  for (const hit of pack.hits) {
    stream.markdown('\n- ');
    if (hit.notLocal) stream.markdown(`\`${named(hit)}\``);
    else link(hit, stream, folders);
    if (hit.symbol) stream.markdown(` \`${hit.symbol}\``);
  }
  stream.markdown('\n');
}

/** The same as the model gets it with the next question. */
function said({ hits }: ContextResult): string {
  return hits.length ? [PLACES_FIT, ...hits.map(hit => `- ${named(hit)}`)].join('\n') : '';
}

/** Why there is no answer in words, and the ways to one. */
function chooseAModel(why: string): vscode.MarkdownString {
  const command = (id: string, argument: string): string => `command:${id}?${encodeURIComponent(JSON.stringify([argument]))}`;
  const [search, settings] = ['workbench.extensions.search', 'workbench.action.openSettings'] as const;
  const trust = 'workbench.trust.manage';
  const ways = vscode.workspace.isTrusted
    ? vscode.l10n.t(
        '{0}. Choose one below the question; [install one]({1}), such as GitHub Copilot, and sign in; or name one that runs here or elsewhere in the setting [carrel.models]({2}).',
        why,
        command(search, '@category:chat'),
        command(settings, 'carrel.models'),
      )
    : vscode.l10n.t('{0}. The editor offers none in Restricted Mode: [trust this folder]({1}) first.', why, `command:${trust}`);
  const text = new vscode.MarkdownString(`\n\n${ways}`);
  text.isTrusted = { enabledCommands: [search, settings, trust] };
  return text;
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
      const path = vscode.workspace.asRelativePath(vscode.Uri.parse(uri, true));
      const isIt = (drop: DroppedResult): boolean =>
        drop.path === uri || (drop.path === path && (!drop.endLine || (drop.startLine <= endLine && startLine <= drop.endLine)));
      const reason = dropped.find(isIt)?.reason ?? vscode.l10n.t('it lies outside the folder that was asked');
      return vscode.l10n.t('{0}:{1} was not sent: {2}.', path, lines({ startLine, endLine }), reason);
    }),
  );
  return [...named];
}

/** `Insert Context` spells a file in several ways. */
function placeOf({ value }: vscode.ChatPromptReference): vscode.Location[] {
  if (!(value instanceof vscode.Location) || value.uri.scheme !== 'file') return [];
  return [new vscode.Location(vscode.Uri.joinPath(value.uri, '.'), value.range)];
}

/**
 * What was attached with `#file`, `#sym` or by dragging: files, and lines of files. Instructions for agents (AGENTS.md, CLAUDE.md, …), which the
 * editor attaches to every request by itself, were chosen by nobody and would take the room of places that answer.
 */
function attachments(request: vscode.ChatRequest): readonly vscode.ChatPromptReference[] {
  return request.references.filter(({ id }) => !id.startsWith('vscode.instructions.'));
}

/** Which of these are files and which folders of the project, as URIs. Of a folder elsewhere the answer says so, as of a file. */
async function filesAndFolders(uris: readonly vscode.Uri[]): Promise<[files: string[], folders: string[]]> {
  const [files, folders]: [string[], string[]] = [[], []];
  for (const uri of uris) {
    const type = await vscode.workspace.fs.stat(uri).then(
      found => found.type,
      () => vscode.FileType.Unknown, // the answer says that it isn't there
    );
    const isFolder = type & vscode.FileType.Directory && vscode.workspace.getWorkspaceFolder(uri);
    (isFolder ? folders : files).push(uri.toString());
  }
  return [files, folders];
}

function fileOf({ value }: vscode.ChatPromptReference): vscode.Uri[] {
  return value instanceof vscode.Uri && value.scheme === 'file' ? [value] : [];
}

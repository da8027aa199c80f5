/** Keeps one server running while it is wanted, and says in one message what to do when that can't be. */

import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { KeyReceiver } from '../models/keys';
import type {
  AugmentParams,
  AugmentResult,
  ChatParams,
  ChatResult,
  ConfirmParams,
  ConfirmResult,
  Notifications,
  Requests,
  ReviewParams,
  ReviewResult,
} from '../protocol';
import { Backoff } from './backoff';
import type { Askable, ChatListener, Connection, Lent, ReviewListener, WorkProgress } from './connection';
import type { Located, NoServer } from './locate';

export type ServerState =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running'; readonly version: string; readonly pid: number | undefined; readonly description: string }
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'failed'; readonly problem: string; readonly remedy: string; readonly lacks?: NoServer['lacks'] };

/** A secret storage that doesn't answer must not hold the server up. */
const KEYS_PATIENCE_MS = 3_000;

/** What a message about a server that can't be had offers: each button with its command. */
const BUTTONS = {
  python: { [vscode.l10n.t('Get Python')]: 'carrel.getPython', [vscode.l10n.t('Open Settings')]: 'carrel.openServerSettings' },
  setting: { [vscode.l10n.t('Open Settings')]: 'carrel.openServerSettings' },
  files: { [vscode.l10n.t('Try Again')]: 'carrel.restartServer', [vscode.l10n.t('Show Log')]: 'carrel.showLog' },
  other: {
    [vscode.l10n.t('Try Again')]: 'carrel.restartServer',
    [vscode.l10n.t('Doctor')]: 'carrel.doctor',
    [vscode.l10n.t('Show Log')]: 'carrel.showLog',
  },
} as const;

/** What a server asks of the person. */
export interface Owner {
  confirm(params: ConfirmParams): Promise<ConfirmResult>;
  handKeys(to: KeyReceiver): Promise<void>;
  settings(folder?: vscode.Uri): Record<string, unknown>;
}

/** The server can't be had; the message is fit for people. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
}

export class Supervisor implements vscode.Disposable {
  private readonly stateEmitter = new vscode.EventEmitter<ServerState>();
  private readonly statusEmitter = new vscode.EventEmitter<Notifications['carrel/statusChanged']>();
  private readonly progressEmitter = new vscode.EventEmitter<{
    readonly token: string | number;
    readonly progress: WorkProgress;
  }>();
  readonly onDidChangeState = this.stateEmitter.event;
  readonly onStatus = this.statusEmitter.event;
  readonly onProgress = this.progressEmitter.event;

  private current: ServerState = { kind: 'stopped' };
  private connection: Connection | undefined;
  private starting: Promise<Connection> | undefined;
  private closing: Promise<void> = Promise.resolve();
  private readonly backoff = new Backoff();
  private timer: NodeJS.Timeout | undefined;
  private restarting: Promise<void> = Promise.resolve();
  private disposed = false;
  /** Hidden from other extensions too, which get this object: they shall neither have keys handed to them nor answer for the person. */
  readonly #owner: Owner;
  private shownProblem: string | undefined;

  constructor(
    private readonly find: () => Promise<Located>,
    private readonly folder: string,
    private readonly log: vscode.LogOutputChannel,
    owner: Owner,
  ) {
    this.#owner = owner;
  }

  get state(): ServerState {
    return this.current;
  }

  /** Whether a server can be asked without one being started: not while it starts, nor while it ends. */
  get answers(): boolean {
    return this.connection !== undefined;
  }

  /** Start the server unless it runs. */
  async start(): Promise<void> {
    await this.connected();
  }

  /** Ask the server, which is started for it if need be. A request that a dying server took with it is asked once more. */
  async request<M extends Askable>(
    method: M,
    params: Requests[M]['params'],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    return this.again(connection => connection.request(method, params, token), token);
  }

  /** Ask the server that runs: for what is worth no start, nor another one when it dies. Gives undefined where none runs. */
  async askRunning<M extends Askable>(method: M, params: Requests[M]['params']): Promise<Requests[M]['result'] | undefined> {
    return this.connection?.request(method, params);
  }

  private async again<T>(ask: (connection: Connection) => Promise<T>, token?: vscode.CancellationToken): Promise<T> {
    const connection = await this.connected();
    try {
      return await ask(connection);
    } catch (error) {
      if (token?.isCancellationRequested || isAnswer(error) || !(await this.hasGone(connection))) throw error;
      return ask(await this.connected());
    }
  }

  /** Bring the index up to date; its progress is told by `onProgress`. */
  async index(
    params: Requests['carrel/index']['params'],
    token?: vscode.CancellationToken,
  ): Promise<Requests['carrel/index']['result']> {
    const connection = await this.connected();
    const workDoneToken = `carrel-vscode-${randomUUID()}`;
    const following = connection.follow(workDoneToken);
    const cancelling = token?.onCancellationRequested(() => connection.cancelProgress(workDoneToken));
    try {
      return await connection.request('carrel/index', { ...params, workDoneToken });
    } finally {
      following.dispose();
      cancelling?.dispose();
    }
  }

  /** Have a question put behind its pages, with the help of a model where the search is unsure. */
  augment(params: AugmentParams, lent: Lent, token?: vscode.CancellationToken): Promise<AugmentResult> {
    return this.again(connection => connection.augment(params, lent, token), token);
  }

  /** Have an issue reviewed. */
  review(params: ReviewParams, listener: ReviewListener, token: vscode.CancellationToken): Promise<ReviewResult> {
    return this.once(vscode.l10n.t('the review'), connection => connection.review(params, listener, token), token);
  }

  /** Have a question answered with tools. */
  chat(params: ChatParams, listener: ChatListener, token: vscode.CancellationToken): Promise<ChatResult> {
    return this.once(vscode.l10n.t('the answer'), connection => connection.chat(params, listener, token), token);
  }

  /** A server that dies meanwhile takes the conversation with it, so nothing is repeated. */
  private async once<T>(what: string, ask: (connection: Connection) => Promise<T>, token: vscode.CancellationToken): Promise<T> {
    const connection = await this.connected();
    try {
      return await ask(connection);
    } catch (error) {
      if (token.isCancellationRequested || isAnswer(error) || !(await this.hasGone(connection))) throw error;
      throw new Error(vscode.l10n.t("Carrel's server stopped during {0}. It is started again; please ask again.", what), {
        cause: error,
      });
    }
  }

  /** The keys changed: tell a server that runs. */
  async giveKeys(): Promise<void> {
    if (this.connection) await this.#handKeys(this.connection);
  }

  settingsChanged(): void {
    this.connection?.settingsChanged();
  }

  cancelProgress(token: string | number): void {
    this.connection?.cancelProgress(token);
  }

  /** A person asked for it, or set another server: forget past faults. One after the other, so that the last setting counts. */
  restart(): Promise<void> {
    const restarted = this.restarting.then(() => this.restartNow());
    this.restarting = restarted.catch(() => undefined);
    return restarted;
  }

  private async restartNow(): Promise<void> {
    this.backoff.reset();
    this.shownProblem = undefined;
    await this.stop();
    await this.connected();
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    await this.starting?.catch(() => undefined);
    if (this.connection) this.closing = this.connection.close();
    this.connection = undefined;
    await this.closing;
    // Somebody may have asked for a server meanwhile.
    if (!this.wanted) this.become({ kind: 'stopped' });
  }

  /** Stop for good: nothing that is still under way starts a server again. */
  async end(): Promise<void> {
    this.disposed = true;
    await this.stop();
  }

  dispose(): void {
    void this.end();
    for (const emitter of [this.stateEmitter, this.statusEmitter, this.progressEmitter]) emitter.dispose();
  }

  private get wanted(): boolean {
    return this.connection !== undefined || this.starting !== undefined;
  }

  private connected(): Promise<Connection> {
    if (this.disposed) return Promise.reject(new ServerUnavailable('The window is closing.'));
    if (this.connection) return Promise.resolve(this.connection);
    clearTimeout(this.timer);
    // The old one holds the index until it has gone.
    this.starting ??= this.closing.then(() => this.open()).finally(() => (this.starting = undefined));
    return this.starting;
  }

  private async open(): Promise<Connection> {
    this.become({ kind: 'starting' });
    const found = await this.find();
    for (const line of found.tried) this.log.info(`Server: ${line}`);
    if (!found.launch) throw this.fail(found.problem, found.remedy, found.lacks);
    this.log.info(`Server: ${found.launch.description}`);
    const began = Date.now();
    const listener = {
      status: (status: Notifications['carrel/statusChanged']) => this.statusEmitter.fire(status),
      progress: (token: string | number, progress: WorkProgress) => this.progressEmitter.fire({ token, progress }),
      confirm: (params: ConfirmParams) => this.#owner.confirm(params),
      settings: (folder?: vscode.Uri) => this.#owner.settings(folder),
    };
    let connection: Connection;
    try {
      // Loaded when it is first needed: the language client costs more than all the rest of the extension's start.
      const { Connection: Opened } = await import('./connection');
      connection = await Opened.open(found.launch, this.folder, this.log, listener);
    } catch (error) {
      throw this.fail(
        vscode.l10n.t("Carrel's server can't start: {0}.", messageOf(error)),
        vscode.l10n.t('Run “Carrel: Doctor”, or look at the log.'),
      );
    }
    await this.#handKeys(connection);
    this.connection = connection;
    void connection.ended.then(reason => this.lost(connection, reason, Date.now() - began));
    const { version, pid } = connection;
    this.become({ kind: 'running', version, pid, description: found.launch.description });
    return connection;
  }

  async #handKeys(connection: Connection): Promise<void> {
    const handed = this.#owner.handKeys(connection).catch((error: unknown) => this.log.warn(`Keys: ${messageOf(error)}`));
    await Promise.race([handed, new Promise(resolve => setTimeout(resolve, KEYS_PATIENCE_MS))]);
  }

  /** Whether the connection broke; the process's end is heard a moment after the broken request. */
  private async hasGone(connection: Connection): Promise<boolean> {
    const moment = new Promise<false>(resolve => setTimeout(() => resolve(false), 500));
    return this.connection !== connection || Promise.race([connection.ended.then(() => true), moment]);
  }

  private lost(connection: Connection, reason: string, livedMs: number): void {
    if (this.connection !== connection || this.disposed) return; // it was asked to go
    this.connection = undefined;
    this.log.warn(`Server: ${reason} after ${Math.round(livedMs / 1000)} s`);
    const delay = this.backoff.next(livedMs);
    if (delay === undefined) {
      this.fail(
        vscode.l10n.t("Carrel's server stopped again and again (last: {0}).", reason),
        vscode.l10n.t('Run “Carrel: Doctor”, or look at the log.'),
      );
      return;
    }
    this.become({ kind: 'waiting', reason });
    this.timer = setTimeout(() => void this.connected().catch(() => undefined), delay);
  }

  /** Tells people once for each time that the server fails, not for each request that it fails. */
  private fail(problem: string, remedy: string, lacks?: NoServer['lacks']): ServerUnavailable {
    this.log.error(`${problem} ${remedy}`);
    this.become({ kind: 'failed', problem, remedy, ...(lacks ? { lacks } : {}) });
    if (this.shownProblem !== problem) void this.tell(`${problem} ${remedy}`, BUTTONS[lacks ?? 'other']);
    this.shownProblem = problem;
    return new ServerUnavailable(`${problem} ${remedy}`);
  }

  private async tell(text: string, commands: Readonly<Record<string, string>>): Promise<void> {
    const chosen = await vscode.window.showErrorMessage(text, ...Object.keys(commands));
    const command = chosen && commands[chosen];
    if (command) await vscode.commands.executeCommand(command);
  }

  private become(state: ServerState): void {
    if (this.disposed) return;
    this.current = state;
    this.stateEmitter.fire(state);
  }
}

/** Whether the server itself said no; what is left is a broken connection (JSON-RPC keeps -32099 to -32096 for those). */
function isAnswer(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return typeof code === 'number' && (code < -32_099 || code > -32_096);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One running server process and the conversation with it. */

import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  LSPErrorCodes,
  ProgressType,
  ResponseError,
  RevealOutputChannelOn,
  StreamMessageReader,
  StreamMessageWriter,
  WorkDoneProgress,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import type {
  AugmentParams,
  AugmentResult,
  ChatParams,
  ChatResult,
  ChatStep,
  CompleteParams,
  CompleteResult,
  ConfirmParams,
  ConfirmResult,
  KeyResult,
  Notifications,
  Requests,
  ReviewParams,
  ReviewResult,
  ReviewStep,
} from '../protocol';
import { KeyWriter } from './key_writer';
import type { Launch } from './locate';

/** The protocol that this extension speaks; the server names its own in `initialize`. */
const PROTOCOL = 1;
const START_PATIENCE_MS = 30_000;

export type WorkProgress =
  | { readonly kind: 'begin'; readonly title: string; readonly message?: string; readonly percentage?: number }
  | { readonly kind: 'report'; readonly message?: string; readonly percentage?: number }
  | { readonly kind: 'end'; readonly message?: string };

export interface Listener {
  status(status: Notifications['carrel/statusChanged']): void;
  progress(token: string | number, progress: WorkProgress): void;
  /** Have the person decide. */
  confirm(params: ConfirmParams): Promise<ConfirmResult>;
  /** The settings in force, of a folder if one is named. */
  settings(folder?: vscode.Uri): Record<string, unknown>;
}

/** Keys are given by `giveKey`, which keeps them out of the log. */
export type Askable = Exclude<keyof Requests, 'carrel/key'>;

/** A chat model that the server may ask while it answers one request. */
export interface Lent {
  complete(params: CompleteParams, token: vscode.CancellationToken): Promise<CompleteResult>;
}

/** Whoever asks for a review, or for an answer with tools, lends the model for it; without one the server asks the model that is set. */
export interface Lender<Step> extends Partial<Lent> {
  step(step: Step): void;
}

export type ReviewListener = Lender<ReviewStep>;
export type ChatListener = Lender<ChatStep>;

export class Connection {
  private readonly lenders = new Map<
    CompleteParams['modelToken'],
    { readonly listener: Partial<Lent>; readonly over: vscode.CancellationTokenSource }
  >();

  private constructor(
    private readonly client: LanguageClient,
    private readonly process: ChildProcess,
    private readonly writer: KeyWriter,
    /** Settles when the process has gone, with the reason in words. */
    readonly ended: Promise<string>,
  ) {}

  /** Start a process and wait until it can be asked; throws an error that is fit for people. */
  static async open(launch: Launch, folder: string, log: vscode.LogOutputChannel, listener: Listener): Promise<Connection> {
    const child = spawn(launch.command, [...launch.args], {
      cwd: folder,
      env: { ...process.env, ...launch.env },
      windowsHide: true,
    });
    const ended = new Promise<string>(resolve => {
      child.once('error', error => resolve(error.message));
      child.once('exit', (code, signal) =>
        resolve(signal ? vscode.l10n.t('ended by {0}', signal) : vscode.l10n.t('ended with code {0}', String(code))),
      );
    });
    child.stderr.on('data', (text: Buffer) => log.append(text.toString()));
    const writer = new KeyWriter(new StreamMessageWriter(child.stdin));
    const transports = { reader: new StreamMessageReader(child.stdout), writer };
    const client = new LanguageClient('carrel', 'Carrel', () => Promise.resolve(transports), options(log, listener));
    client.onNotification('carrel/statusChanged', (status: Notifications['carrel/statusChanged']) => listener.status(status));
    const connection = new Connection(client, child, writer, ended);
    client.onRequest('carrel/complete', (params: CompleteParams, token: vscode.CancellationToken) =>
      connection.complete(params, token),
    );
    client.onRequest('carrel/confirm', async (params: ConfirmParams, token: vscode.CancellationToken): Promise<ConfirmResult> => {
      const answer = await listener.confirm(params);
      return token.isCancellationRequested ? { allowed: false } : answer;
    });
    client.registerFeature(ANSWERS);
    try {
      await within(START_PATIENCE_MS, client.start(), ended);
      connection.checkProtocol();
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  get pid(): number | undefined {
    return this.process.pid;
  }

  get version(): string {
    return this.client.initializeResult?.serverInfo?.version ?? '';
  }

  request<M extends Askable>(
    method: M,
    params: Requests[M]['params'],
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    // An undefined token would be taken for a second parameter.
    const more = token ? [token] : [];
    return this.client.sendRequest<Requests[M]['result']>(method, params, ...more);
  }

  /** Give the server a provider's key, or have it forget the one it has. */
  giveKey(provider: string, key?: string): Promise<KeyResult> {
    const send = (more: object): Promise<KeyResult> => this.client.sendRequest<KeyResult>('carrel/key', { provider, ...more });
    return key === undefined ? send({}) : this.writer.withheld(key, name => send({ key: name }));
  }

  /** Have an issue reviewed; `listener` hears of each step, and its model is asked. */
  review(params: ReviewParams, listener: ReviewListener, token: vscode.CancellationToken): Promise<ReviewResult> {
    return this.lending<'carrel/review', ReviewStep>('carrel/review', params, listener, token);
  }

  /** Have a question answered with tools; `listener` hears of each step, and its model is asked. */
  chat(params: ChatParams, listener: ChatListener, token: vscode.CancellationToken): Promise<ChatResult> {
    return this.lending<'carrel/chat', ChatStep>('carrel/chat', params, listener, token);
  }

  /** Have a question put behind its pages; where the search is unsure, the model is asked to say it in the words of the code. */
  augment(params: AugmentParams, lent: Lent, token?: vscode.CancellationToken): Promise<AugmentResult> {
    return this.lending<'carrel/augment', never>('carrel/augment', params, lent, token);
  }

  private async lending<M extends 'carrel/augment' | 'carrel/chat' | 'carrel/review', Step>(
    method: M,
    params: Requests[M]['params'],
    listener: Partial<Lender<Step>>,
    token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    const id = `carrel-model-${randomUUID()}`;
    const over = new vscode.CancellationTokenSource();
    this.lenders.set(id, { listener, over });
    const following = this.client.onProgress(new ProgressType<Step>(), id, step => listener.step?.(step));
    const wanted = {
      ...(listener.step ? { partialResultToken: id } : {}),
      ...(listener.complete ? { modelToken: id } : {}),
    };
    try {
      return await this.request(method, { ...params, ...wanted }, token);
    } finally {
      following.dispose();
      this.lenders.delete(id);
      over.cancel(); // also when the server has gone, and can't take its question back
      over.dispose();
    }
  }

  /** Hear of the progress under a token; tokens that the server makes are heard without this. */
  follow(token: string): vscode.Disposable {
    return this.client.onProgress(WorkDoneProgress.type, token, () => undefined); // the middleware tells the listener
  }

  /** Have the server ask for its settings again: the client by itself tells only of those under `carrel`. */
  settingsChanged(): void {
    this.notify('workspace/didChangeConfiguration', { settings: null });
  }

  cancelProgress(token: string | number): void {
    this.notify('window/workDoneProgress/cancel', { token });
  }

  /** Tell the server something that one which ends meanwhile needn't hear: the next one reads the settings and has no such work. */
  private notify(method: string, params: object): void {
    void this.client.sendNotification(method, params).catch(() => undefined);
  }

  /** End the process; in good order where it still listens. */
  async close(): Promise<void> {
    try {
      if (this.client.isRunning()) await this.client.stop(2_000);
    } catch {
      // It didn't listen any more.
    }
    this.process.kill();
  }

  private async complete(params: CompleteParams, token: vscode.CancellationToken): Promise<CompleteResult> {
    try {
      const asked = this.lenders.get(params.modelToken);
      if (!asked?.listener.complete) throw new Error('nobody here asked for this');
      token.onCancellationRequested(() => asked.over.cancel());
      return await asked.listener.complete(params, asked.over.token);
    } catch (error) {
      const cancelled = error instanceof vscode.CancellationError;
      // Any other error would travel with the method's name before its words.
      const code = cancelled ? LSPErrorCodes.RequestCancelled : LSPErrorCodes.RequestFailed;
      throw new ResponseError(code, error instanceof Error ? error.message : String(error));
    }
  }

  private checkProtocol(): void {
    const experimental = this.client.initializeResult?.capabilities.experimental as
      { carrel?: { protocol?: number } } | undefined;
    const spoken = experimental?.carrel?.protocol;
    if (spoken === undefined) throw new Error(vscode.l10n.t('the program that was started is not a Carrel server'));
    if (spoken !== PROTOCOL) {
      throw new Error(
        vscode.l10n.t(
          'the server speaks version {0} of the protocol, this extension version {1}: update the older one',
          spoken,
          PROTOCOL,
        ),
      );
    }
  }
}

/** Says in `initialize` that the server may ask for a model, and for a person's decision; that settings are the person's own. */
const ANSWERS: StaticFeature = {
  fillClientCapabilities: capabilities => {
    // What says where text goes has the scope `machine` in package.json: no folder sets it.
    const carrel = { complete: true, confirm: true, ownSettings: true };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), carrel };
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};

function options(log: vscode.LogOutputChannel, listener: Listener): LanguageClientOptions {
  return {
    // Every file on disk: which of them count is the server's to decide.
    documentSelector: [{ scheme: 'file' }],
    outputChannel: log,
    initializationOptions: listener.settings(),
    // Starting again, and telling people, is the supervisor's.
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true, message: 'The server has gone.' }),
    },
    initializationFailedHandler: () => false,
    revealOutputChannelOn: RevealOutputChannelOn.Never, // the supervisor tells people what to do
    middleware: {
      workspace: {
        configuration: params =>
          params.items.map(({ section, scopeUri }) =>
            section === 'carrel' ? listener.settings(scopeUri === undefined ? undefined : vscode.Uri.parse(scopeUri)) : null,
          ),
      },
      handleWorkDoneProgress: (token, progress, next) => {
        listener.progress(token, progress);
        // The status bar shows it already: the client's own display never begins, and only hears that it is over.
        if (progress.kind === 'end') next(token, progress);
      },
    },
  };
}

async function within(milliseconds: number, started: Promise<void>, ended: Promise<string>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(vscode.l10n.t("the server didn't answer within {0} s", milliseconds / 1000))),
      milliseconds,
    );
  });
  const gone = ended.then(reason => {
    throw new Error(vscode.l10n.t('the server {0} while it started', reason));
  });
  started.catch(() => undefined); // whichever comes first is told; the others must not count as unheard
  gone.catch(() => undefined);
  try {
    await Promise.race([started, late, gone]);
  } finally {
    clearTimeout(timer);
  }
}

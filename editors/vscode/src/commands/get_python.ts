/** `Carrel: Get Python`: one button, and the server runs. */

import * as vscode from 'vscode';
import { bytes } from '../memory/labels';
import type { Machine } from '../server/locate';
import type { OwnPython } from '../server/own_python';
import { messageOf } from '../server/supervisor';
import type { Supervisor } from '../server/supervisor';
import { configuration } from '../settings';

export class GetPython {
  private running: Promise<string | undefined> | undefined;

  constructor(
    private readonly own: OwnPython,
    private readonly machine: Machine,
    private readonly server: Supervisor,
  ) {}

  /** Gives the interpreter, once the server was started with it; undefined when the person cancelled it or it failed, which was told. */
  run(): Promise<string | undefined> {
    // The button may be in a message and in the status bar: a second click waits for the first.
    return (this.running ??= this.get().finally(() => (this.running = undefined)));
  }

  private async get(): Promise<string | undefined> {
    const { archive } = this.own;
    if (!archive)
      throw new Error(
        vscode.l10n.t('this build of the extension names no Python to get. Choose one with the setting carrel.server.python.'),
      );
    const stop = new AbortController();
    try {
      const python = await vscode.window.withProgress(
        {
          location: vscode.ProgressLocation.Notification,
          title: vscode.l10n.t('Carrel: getting Python {0}', archive.version),
          cancellable: true,
        },
        (progress, token) => {
          token.onCancellationRequested(() => stop.abort());
          let shown = 0;
          return this.own.get(
            archive,
            String(configuration().get('server.pythonMirror') ?? ''),
            stop.signal,
            (received, total) => {
              const percent = total ? Math.floor((100 * received) / total) : 0;
              if (total && percent === shown) return;
              progress.report({
                message: total ? vscode.l10n.t('{0} of {1}', bytes(received), bytes(total)) : bytes(received),
                increment: percent - shown,
              });
              shown = percent;
            },
          );
        },
      );
      if ((await this.machine.output(python, ['--version'])) === undefined) {
        this.own.remove(archive);
        throw new Error(vscode.l10n.t("it can't be run on this machine"));
      }
      await this.server.restart();
      return python;
    } catch (error) {
      if (!stop.signal.aborted) void this.failed(messageOf(error));
      return undefined;
    }
  }

  private async failed(why: string): Promise<void> {
    const [again, settings] = [vscode.l10n.t('Try Again'), vscode.l10n.t('Open Settings')];
    const chosen = await vscode.window.showErrorMessage(
      vscode.l10n.t('Carrel: Python was not installed: {0}.', why),
      again,
      settings,
    );
    if (chosen === again) await this.run();
    if (chosen === settings) await openServerSettings();
  }
}

export async function openServerSettings(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'carrel.server');
}

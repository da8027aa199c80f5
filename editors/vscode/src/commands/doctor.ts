/** `Carrel: Doctor`: what was looked for as a server, and what the server's own doctor finds. */

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { localFolders, type Memory } from '../memory/memory';
import type { Located } from '../server/locate';
import type { Supervisor } from '../server/supervisor';
import { findingLines, folderLines, providerLines, SIGNS, type Finding } from './doctor_report';

const SCHEME = 'carrel-doctor';

/** The reports, as documents that can be read and copied, and not edited. */
export class Doctor implements vscode.Disposable {
  private readonly provider: vscode.Disposable;
  private readonly reports = new Map<string, string>();

  /** `version` is the extension's; `folder` is where programs run, never the workspace. */
  constructor(
    private readonly find: () => Promise<Located>,
    private readonly server: Supervisor,
    private readonly memory: Memory,
    private readonly version: string,
    private readonly folder: string,
  ) {
    this.provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      provideTextDocumentContent: ({ query }) => this.reports.get(query),
    });
  }

  /** Gives the report, which it also shows. */
  async run(): Promise<string> {
    const title = vscode.l10n.t('Carrel: Doctor is looking');
    const text = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title }, () => this.report());
    // Each report is a document of its own: one that changed would be shown as it was for a moment.
    const query = String(this.reports.size + 1);
    this.reports.set(query, text);
    const uri = vscode.Uri.from({ scheme: SCHEME, path: '/Carrel Doctor.md', query });
    const document = await vscode.languages.setTextDocumentLanguage(await vscode.workspace.openTextDocument(uri), 'markdown');
    await vscode.window.showTextDocument(document, { preview: true });
    return text;
  }

  dispose(): void {
    this.provider.dispose();
  }

  private async report(): Promise<string> {
    const found = await this.find();
    const lines = [
      '# Carrel: Doctor',
      '',
      `- Extension: version ${this.version}, in VS Code ${vscode.version} on ${process.platform}-${process.arch}`,
      `- Server: ${describe(this.server)}`,
      ...(vscode.workspace.isTrusted ? [] : ['- Restricted Mode: nothing is indexed by itself until you trust this folder']),
      ...found.tried.map(line => `- ${SIGNS.note} ${line}`),
    ];
    if (found.launch) {
      lines.push(`- ${SIGNS.ok} Chosen: ${found.launch.description}`);
      const places = localFolders().map(({ uri }) => uri.fsPath);
      if (this.server.state.kind === 'running') await this.memory.refresh().catch(() => undefined);
      const providers = await this.server.askRunning('carrel/providers', {}).catch(() => undefined);
      if (providers) lines.push(...providerLines(providers));
      for (const place of places.length ? places : [this.folder])
        lines.push('', `## ${place}`, '', ...(await this.examine(found.launch, place)), ...this.running(place));
    } else {
      lines.push(`- ${SIGNS.error} ${found.problem} ${found.remedy}`);
    }
    return lines.join('\n') + '\n';
  }

  private running(place: string): string[] {
    const { state } = this.server;
    const status = this.memory.state.all.find(one => vscode.Uri.parse(one.workspaceFolder).fsPath === place);
    return folderLines(state.kind === 'running' ? status : undefined, state.kind === 'running' ? state.pid : undefined);
  }

  private async examine(launch: NonNullable<Located['launch']>, place: string): Promise<string[]> {
    const args = [...launch.args.slice(0, -1), 'doctor', place, '--json']; // in place of `serve`
    const options = { cwd: this.folder, env: { ...process.env, ...launch.env }, timeout: 60_000 };
    const output = await new Promise<string>(resolve => {
      // The exit code says whether something is broken; the findings say what.
      execFile(launch.command, args, options, (error, stdout) => resolve(stdout || (error?.message ?? '')));
    });
    try {
      const { findings } = JSON.parse(output) as { findings: readonly Finding[] };
      return findingLines(findings, launch.env.PYTHONPATH !== undefined, this.server.state.kind === 'running');
    } catch {
      return [`- ${SIGNS.error} The server's own doctor gave no report: ${output.trim().slice(-500)}`];
    }
  }
}

function describe(server: Supervisor): string {
  const { state } = server;
  switch (state.kind) {
    case 'running':
      return `version ${state.version}, running as process ${String(state.pid)}`;
    case 'failed':
      return `${state.problem} ${state.remedy}`;
    case 'waiting':
      return `${state.reason}; it starts again in a moment`;
    case 'starting':
      return 'starting';
    case 'stopped':
      return "isn't running; it starts when it is needed";
  }
}

/** Offers `carrel mcp` to the editor's agents, where the person wants that: the same server, the same index, more tools. */

import * as vscode from 'vscode';
import { localFolders } from './memory/memory';
import type { Located } from './server/locate';
import type { McpPackages } from './server/mcp_packages';
import { configuration, EDITOR_SETTINGS, serverSettings } from './settings';
import type { Switches } from './switches';

export class McpProvider implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable[];
  private offered = false;
  readonly onDidChangeMcpServerDefinitions = this.emitter.event;

  /** `find` is how the extension finds its own server; `folder` is where programs run, never the workspace. */
  constructor(
    private readonly find: () => Promise<Located>,
    private readonly folder: string,
    private readonly version: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly switches: Switches,
    private readonly packages: McpPackages,
  ) {
    const changed = (): void => this.emitter.fire();
    this.disposables = [
      this.emitter,
      vscode.workspace.onDidChangeConfiguration(
        event => ['carrel', ...EDITOR_SETTINGS].some(key => event.affectsConfiguration(key)) && changed(),
      ),
      vscode.workspace.onDidChangeWorkspaceFolders(changed),
      switches.onDidChange(changed),
    ];
  }

  /** One server for all folders of the window; none where it isn't wanted, or what lies there isn't trusted. */
  async provideMcpServerDefinitions(): Promise<vscode.McpStdioServerDefinition[]> {
    const folders = localFolders();
    if (!vscode.workspace.isTrusted || !folders.length || configuration().get('mcp.enabled') !== true) return [];
    const found = await this.find();
    if (!found.launch) {
      this.log.warn(`MCP: no server is offered: ${found.tried.join('; ')}`);
      return [];
    }
    const launch = this.packages.complete(found.launch);
    if (!launch) {
      void this.offerPackages();
      return [];
    }
    const set = Object.entries(serverSettings(this.switches)).filter(([, value]) => value !== null);
    const args = [
      ...launch.args.slice(0, -1), // up to `serve`
      'mcp',
      ...folders.flatMap(({ uri }) => ['--root', uri.fsPath]),
      '--roots-by-editor',
      '--tools',
      'all',
      ...(set.length ? ['--settings', JSON.stringify(Object.fromEntries(set))] : []),
    ];
    const definition = new vscode.McpStdioServerDefinition('Carrel', launch.command, args, { ...launch.env }, this.version);
    definition.cwd = vscode.Uri.file(this.folder);
    return [definition];
  }

  /** `Carrel: Get the MCP Server's Packages`; gives whether they are there. */
  async getPackages(): Promise<boolean> {
    const { launch } = await this.find();
    if (!launch) throw new Error(vscode.l10n.t('there is no server yet to get packages for.'));
    const stop = new AbortController();
    await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Notification, title: "Carrel: getting the MCP server's packages", cancellable: true },
      async (_, token) => {
        token.onCancellationRequested(() => stop.abort());
        await this.packages.get(launch, stop.signal).catch((error: unknown) => {
          if (!stop.signal.aborted) throw error;
        });
      },
    );
    this.emitter.fire();
    return this.packages.complete(launch) !== undefined;
  }

  /** Once in a window: who doesn't want them turns the setting off, or asks again by the command. */
  private async offerPackages(): Promise<void> {
    if (this.offered) return;
    this.offered = true;
    const text = vscode.l10n.t("Carrel's MCP server needs more Python packages (16 MB from your package index).");
    const [get, settings] = [vscode.l10n.t('Get Them'), vscode.l10n.t('Open Settings')];
    const chosen = await vscode.window.showInformationMessage(text, get, settings);
    if (chosen === get) await vscode.commands.executeCommand('carrel.getMcpPackages');
    if (chosen === settings) await vscode.commands.executeCommand('workbench.action.openSettings', 'carrel.mcp');
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

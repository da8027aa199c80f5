/** Offers `carrel mcp` to the editor's agents, where the person wants that: the same server, the same index, more tools. */

import * as vscode from 'vscode';
import { localFolders } from './memory/memory';
import type { Located } from './server/locate';
import { configuration, EDITOR_EXCLUDES, serverSettings } from './settings';
import type { Switches } from './switches';

export class McpProvider implements vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<void>();
  private readonly disposables: vscode.Disposable[];
  readonly onDidChangeMcpServerDefinitions = this.emitter.event;

  /** `find` is how the extension finds its own server; `folder` is where programs run, never the workspace. */
  constructor(
    private readonly find: () => Promise<Located>,
    private readonly folder: string,
    private readonly version: string,
    private readonly log: vscode.LogOutputChannel,
    private readonly switches: Switches,
  ) {
    const changed = (): void => this.emitter.fire();
    this.disposables = [
      this.emitter,
      vscode.workspace.onDidChangeConfiguration(
        event => ['carrel', ...EDITOR_EXCLUDES].some(key => event.affectsConfiguration(key)) && changed(),
      ),
      vscode.workspace.onDidChangeWorkspaceFolders(changed),
      switches.onDidChange(changed),
    ];
  }

  /** One server for all folders of the window; none where it isn't wanted, or what lies there isn't trusted. */
  async provideMcpServerDefinitions(): Promise<vscode.McpStdioServerDefinition[]> {
    const folders = localFolders();
    if (!vscode.workspace.isTrusted || !folders.length || configuration().get('mcp.enabled') !== true) return [];
    const { launch, tried } = await this.find();
    if (!launch) {
      this.log.warn(`MCP: no server is offered: ${tried.join('; ')}`);
      return [];
    }
    const set = Object.entries(serverSettings(this.switches)).filter(([, value]) => value !== null);
    const args = [
      ...launch.args.slice(0, -1), // up to `serve`
      'mcp',
      ...folders.flatMap(({ uri }) => ['--root', uri.fsPath]),
      ...(set.length ? ['--settings', JSON.stringify(Object.fromEntries(set))] : []),
    ];
    const definition = new vscode.McpStdioServerDefinition('Carrel', launch.command, args, { ...launch.env }, this.version);
    definition.cwd = vscode.Uri.file(this.folder);
    return [definition];
  }

  dispose(): void {
    for (const disposable of this.disposables) disposable.dispose();
  }
}

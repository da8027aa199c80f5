/** Puts the parts together. Retrieval and ranking are the server's; nothing here does either. */

import { mkdirSync } from 'node:fs';
import * as vscode from 'vscode';
import { auditCommands, AuditView } from './audit/view';
import { ContextClient } from './context_client';
import { IssueReview } from './chat/issue_review';
import { OwnModels } from './chat/own_models';
import { Participant } from './chat/participant';
import { ToolChat } from './chat/tool_chat';
import { SearchTool } from './chat/search_tool';
import { decideInstructions } from './commands/agent_instructions';
import { ask } from './commands/ask';
import { Doctor } from './commands/doctor';
import { GetPython, openServerSettings } from './commands/get_python';
import { memoryCommands } from './commands/memory_commands';
import { searchCommands } from './commands/search_commands';
import { McpProvider } from './mcp_provider';
import { isCancelled, Memory } from './memory/memory';
import { modelCommands } from './models/commands';
import { Keys } from './models/keys';
import { decide } from './models/permission';
import { PERSON } from './models/person';
import { answerNodes } from './receipts/nodes';
import { Receipts } from './receipts/receipts';
import { ReceiptView, receiptCommands } from './receipts/view';
import { editorPython } from './server/editor_python';
import { locate, type Located } from './server/locate';
import { realMachine } from './server/machine';
import { McpPackages } from './server/mcp_packages';
import { OwnPython } from './server/own_python';
import { ServerFiles } from './server/server_files';
import { Supervisor, messageOf } from './server/supervisor';
import { Traces } from './server/traces';
import { configuration, EDITOR_SETTINGS, serverSettings } from './settings';
import { sourceCommands } from './sources/commands';
import { Switches } from './switches';
import { offerMemory, turnOn } from './welcome';

/** What other extensions may use, and what the tests look at. */
export interface Carrel {
  readonly server: Supervisor;
  readonly memory: Memory;
  readonly receipts: Receipts;
  readonly receiptView: ReceiptView;
  readonly mcp: McpProvider;
  readonly switches: Switches;
  readonly audit: AuditView;
  readonly models: OwnModels;
  /** How the server is looked for. */
  readonly find: () => Promise<Located>;
  /** What `activate` cost: processor time, in which a busy machine doesn't count. */
  readonly activationMs: number;
}

let running: Supervisor | undefined;

export function activate(context: vscode.ExtensionContext): Carrel {
  const began = process.cpuUsage();
  const log = vscode.window.createOutputChannel('Carrel', { log: true });
  const folder = context.globalStorageUri.fsPath;
  mkdirSync(folder, { recursive: true });
  const bundled = context.asAbsolutePath('bundled');
  const files = new ServerFiles(bundled, folder);
  const own = new OwnPython(bundled, folder);
  const find = async (): Promise<Located> => {
    // Settings files are written by hand: what is no text is no path.
    const text = (key: string): string => String(configuration().get(key) ?? '');
    const { present } = own;
    const wanted = { program: text('server.path'), python: text('server.python'), own: present, libraries: () => files.folder() };
    return locate({ ...wanted, editorPython: present.length ? undefined : await editorPython() }, realMachine(folder));
  };
  const keys = new Keys(context.secrets);
  const switches = new Switches(context.workspaceState);
  const server = new Supervisor(find, folder, log, {
    confirm: params => decide(params, PERSON),
    handKeys: to => keys.handOver(to),
    settings: scope => serverSettings(switches, scope),
  });
  running = server;
  const receipts = new Receipts(context.workspaceState);
  const receiptView = new ReceiptView(receipts);
  const memory = new Memory(server, switches, () => answerNodes(receipts.all));
  const asked = (): void => {
    memory.renew();
    void vscode.commands.executeCommand('setContext', 'carrel.asked', true);
  };
  receipts.onDidChange(asked);
  if (receipts.all.length) asked();
  const contextClient = new ContextClient(server, receipts, memory);
  const traces = new Traces(context.extensionPath, folder);
  server.onStatus(({ store, role }) => store && role === 'writer' && traces.noteIndex(store));
  context.subscriptions.push(log, switches, server, receiptView, memory);
  const tools = new ToolChat(server, contextClient);
  const models = new OwnModels(server, contextClient, tools);
  const issues = new IssueReview(server, memory, receipts);
  context.subscriptions.push(new Participant(contextClient, memory, receipts, issues, tools).register(), models);
  const { version } = context.extension.packageJSON as { readonly version: string };
  const doctor = new Doctor(find, server, memory, version, folder);
  const mcp = new McpProvider(find, folder, version, log, switches, new McpPackages(bundled, folder));
  context.subscriptions.push(doctor, mcp, vscode.lm.registerMcpServerDefinitionProvider('carrel.mcp', mcp));
  context.subscriptions.push(vscode.lm.registerTool('carrel_search', new SearchTool(contextClient, memory)));

  const getPython = new GetPython(own, realMachine(folder), server);
  const audit = new AuditView(server, receipts);
  context.subscriptions.push(audit);
  const commands: Record<string, (...args: never[]) => unknown> = {
    ...memoryCommands(memory),
    ...searchCommands(server, contextClient, memory),
    ...receiptCommands(receipts, contextClient),
    ...modelCommands(server, keys),
    ...sourceCommands(server),
    ...auditCommands(audit),
    'carrel.doctor': () => doctor.run(),
    'carrel.showLog': () => log.show(),
    'carrel.restartServer': () => server.restart(),
    'carrel.getPython': () => getPython.run(),
    'carrel.openServerSettings': openServerSettings,
    'carrel.getMcpPackages': () => mcp.getPackages(),
    'carrel.ask': ask,
    'carrel.walkthrough': async () => {
      // A step is ticked when its key comes true, but not where it was before the editor read the walkthroughs.
      for (const key of ['carrel.indexed', 'carrel.asked']) await vscode.commands.executeCommand('setContext', key, false);
      await vscode.commands.executeCommand('workbench.action.openWalkthrough', `${context.extension.id}#start`, false);
      memory.renew();
      if (receipts.all.length) asked();
    },
    'carrel.turnOn': () => turnOn(switches, memory),
    'carrel.agentInstructions': () => decideInstructions(context.extensionUri),
  };
  for (const [id, run] of Object.entries(commands))
    context.subscriptions.push(vscode.commands.registerCommand(id, withErrorMessage(run, log)));

  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration(event => void follow(event, server).catch(() => undefined)),
    context.secrets.onDidChange(() => void server.giveKeys()), // in another window too
    switches.onDidChange(() => void switched(switches, server).catch(() => undefined)), // in a folder that is trusted now, too
  );

  const offer = (): void => void offerMemory(context, switches, memory).catch((error: unknown) => log.warn(messageOf(error)));
  context.subscriptions.push(vscode.workspace.onDidGrantWorkspaceTrust(offer));
  // With the memory off nothing runs until somebody asks.
  if (switches.anyOn) void server.start().catch(() => undefined);
  else offer();
  const { user, system } = process.cpuUsage(began);
  return { server, memory, receipts, receiptView, mcp, switches, audit, models, find, activationMs: (user + system) / 1_000 };
}

/** Which server runs may be set at any time. The other settings are the server's to follow. */
async function follow(event: vscode.ConfigurationChangeEvent, server: Supervisor): Promise<void> {
  if (event.affectsConfiguration('carrel.server') && server.state.kind !== 'stopped') await server.restart();
  else if (EDITOR_SETTINGS.some(key => event.affectsConfiguration(key))) server.settingsChanged();
}

/** With a switch on, the server runs; when the last one is turned off, it ends. */
async function switched(switches: Switches, server: Supervisor): Promise<void> {
  if (!switches.anyOn) return server.stop();
  server.settingsChanged();
  await server.start();
}

/** Ends the server in good order; it would also end by itself with the editor. */
export async function deactivate(): Promise<void> {
  await running?.end();
}

/** A command's error as one message; the server's own troubles were told already. */
function withErrorMessage(
  run: (...args: never[]) => unknown,
  log: vscode.LogOutputChannel,
): (...args: never[]) => Promise<unknown> {
  return async (...args) => {
    try {
      return await run(...args);
    } catch (error) {
      if (isCancelled(error)) return undefined; // by the person
      log.error(messageOf(error));
      if (error instanceof Error && error.name !== 'ServerUnavailable')
        void vscode.window.showErrorMessage(`Carrel: ${messageOf(error)}`);
      return undefined;
    }
  };
}

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { carrel, folder, until } from './carrel';

const TOOLS = ['execute_pipeline', 'get_context', 'index_status', 'search_code', 'search_knowledge_base', 'search_tools'];

async function set(key: string, value: unknown, target = vscode.ConfigurationTarget.Workspace): Promise<void> {
  await vscode.workspace.getConfiguration('carrel').update(key, value, target);
}

async function offered(): Promise<vscode.McpStdioServerDefinition[]> {
  return (await carrel()).mcp.provideMcpServerDefinitions();
}

interface Answer {
  readonly id: number;
  readonly result: {
    readonly serverInfo?: { readonly name: string };
    readonly tools?: readonly { readonly name: string }[];
    readonly content?: readonly { readonly text: string }[];
  };
}

/** Start what a definition names, as an editor would, and listener to it. */
async function listener(
  definition: vscode.McpStdioServerDefinition,
  requests: readonly (readonly [string, object])[],
): Promise<Answer[]> {
  const { command, args, cwd, env } = definition;
  const given = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
  const child = spawn(command, args, { cwd: cwd?.fsPath, env: { ...process.env, ...given }, stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = new Promise<number | null>(resolve => child.once('exit', resolve));
  const answers: Answer[] = [];
  createInterface(child.stdout).on('line', line => {
    const message = JSON.parse(line) as Partial<Answer>;
    if (message.result) answers.push(message as Answer);
  });
  for (const [id, [method, params]] of requests.entries()) {
    child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
    await until(`the answer to ${method}`, () => answers.find(answer => answer.id === id), 40);
    if (method === 'initialize') child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  child.stdin.end();
  assert.equal(await gone, 0, 'it ends with its input');
  return answers;
}

describe('the MCP server of the extension', () => {
  after(async () => {
    for (const key of ['mcp.enabled', 'exclude']) await set(key, undefined);
    await set('server.python', undefined, vscode.ConfigurationTarget.Global);
  });

  it('is not offered by itself: #carrel searches already', async () => {
    assert.deepEqual(await offered(), []);
  });

  it('is offered when its packages are there, which come when the person wants them', async () => {
    await set('mcp.enabled', true);
    assert.deepEqual(await offered(), []);
    assert.equal(await vscode.commands.executeCommand('carrel.getMcpPackages'), true);
    assert.equal((await offered()).length, 1);
    await set('mcp.enabled', undefined);
  });

  it('is the server that the extension found, for the open folders, with their settings', async () => {
    const { mcp } = await carrel();
    let changes = 0;
    const listening = mcp.onDidChangeMcpServerDefinitions(() => (changes += 1));
    await set('mcp.enabled', true);
    await until('the change is told', () => changes > 0);
    await set('exclude', ['orders.py']);
    await until('the next change is told', () => changes > 1);
    listening.dispose();
    const files = vscode.workspace.getConfiguration('files');
    await files.update('associations', { '*.inc': 'php', '/srv/*.y': 'php' }, vscode.ConfigurationTarget.Workspace);
    const [definition, ...more] = await offered();
    await files.update('associations', undefined, vscode.ConfigurationTarget.Workspace);
    assert(definition && !more.length);
    const { command, args, env, cwd, label } = definition;
    assert.equal(label, 'Carrel');
    assert.match(command, /python/);
    assert.deepEqual(args.slice(0, -1), [
      '-P',
      '-m',
      'carrel',
      'mcp',
      '--root',
      folder().uri.fsPath,
      '--roots-by-editor',
      '--tools',
      'all',
      '--settings',
    ]);
    const { editorExclude, editorLanguages, ...own } = JSON.parse(args.at(-1) ?? '') as {
      editorExclude: string[];
      editorLanguages: Record<string, string>;
    };
    assert.deepEqual(own, { exclude: ['orders.py'] });
    assert.deepEqual(editorLanguages, { '*.inc': 'php' }); // the other glob is bound to a path of the machine
    assert(editorExclude.includes('**/node_modules'), editorExclude.join()); // a default of VS Code's search.exclude
    assert.match(
      String(env.PYTHONPATH),
      /server-[0-9a-f]{12}.cp3\d+.*server-[0-9a-f]{12}.common.*mcp-packages-[0-9a-f]{12}-cp3\d+$/,
    );
    assert(cwd && !cwd.fsPath.startsWith(folder().uri.fsPath), 'no folder of the project: what lies there must not be run');
  });

  it('starts, tells its tools and answers', async () => {
    // The extension's server writes the index that this one reads: it must know the setting, and have finished.
    const { server, memory } = await carrel();
    await until('a whole index without orders.py', async () => {
      await vscode.commands.executeCommand('carrel.memory.index');
      const { hits } = await server.request('carrel/search', { query: 'total_price of an order' });
      const [status] = memory.state.all;
      return status?.state === 'ready' && !status.pending && !hits.some(({ path }) => path === 'src/orders.py');
    });
    const [definition] = await offered();
    assert(definition);
    const clientInfo = { name: 'test', version: '1' };
    const [hello, tools, found] = await listener(definition, [
      ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }],
      ['tools/list', {}],
      ['tools/call', { name: 'search_code', arguments: { query: 'how is a login checked, and an order priced?' } }],
    ]);
    assert.equal(hello?.result.serverInfo?.name, 'carrel');
    assert.deepEqual(tools?.result.tools?.map(({ name }) => name).sort(), TOOLS);
    const text = found?.result.content?.map(part => part.text).join('\n') ?? '';
    assert(text.includes('src/auth.py') && !text.includes('src/orders.py'), text);
  });

  it('is taken up by the editor, whose agents get its tools', async () => {
    const tools = (): string[] => vscode.lm.tools.map(({ name }) => name).filter(name => /^mcp_carrel_/.test(name));
    await vscode.commands.executeCommand('workbench.mcp.startServer', 'carrel.carrel/Carrel', { waitForLiveTools: true });
    await until('its tools', () => tools().length === TOOLS.length);
    assert.deepEqual(
      tools().sort(),
      TOOLS.map(name => `mcp_carrel_${name}`),
    );
    await set('mcp.enabled', false);
    await until('they go with the setting', () => tools().length === 0);
    await set('mcp.enabled', true);
  });

  it('is not offered where no server can be started', async () => {
    await set('server.python', '/nowhere/python3', vscode.ConfigurationTarget.Global);
    assert.deepEqual(await offered(), []);
  });
});

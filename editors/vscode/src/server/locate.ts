/** Which program is the server. Pure but for what `Machine` does, so that every case is tested without an editor. */

import * as path from 'node:path';
import { l10n } from 'vscode';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For people: what was chosen, and from where. */
  readonly description: string;
  /** Of the packaged server: the interpreter's version, as in 3.13. */
  readonly python?: string;
}

export interface ServerChoice {
  /** Setting `carrel.server.path`. */
  readonly program: string;
  /** Setting `carrel.server.python`. */
  readonly python: string;
  /** The interpreter that is active in the editor, if one is known and may be used. */
  readonly editorPython: string | undefined;
  /** Interpreters of Carrel's own, packaged or got before. */
  readonly own: readonly string[];
  /** Give the folder that holds the packaged server: `common/` and one `cp3xx/` for each Python version. It may have to be unpacked first. */
  readonly libraries: () => Promise<string>;
}

export interface Machine {
  readonly windows: boolean;
  exists(file: string): boolean;
  /** Standard output of a program that ended well, else undefined. */
  output(command: string, args: readonly string[]): Promise<string | undefined>;
}

/** Why there is no server, in a sentence, and what is missing: a Python can be got, a setting can be corrected. */
export interface NoServer {
  readonly problem: string;
  readonly remedy: string;
  readonly lacks: 'python' | 'setting' | 'files';
}

/** `tried` says in words what was looked at and why it wasn't taken. */
export type Located =
  | { readonly launch: Launch; readonly tried: readonly string[] }
  | ({ readonly launch: undefined; readonly tried: readonly string[] } & NoServer);

const PYTHONS = l10n.t('Python 3.11 to 3.14');

/** Find the server: the setting, the packaged one, `carrel` on PATH. */
export async function locate(wanted: ServerChoice, machine: Machine): Promise<Located> {
  const tried: string[] = [];
  if (wanted.program) {
    const launch = await program(wanted.program, 'setting carrel.server.path', machine);
    if (launch) return { launch, tried };
    return {
      launch: undefined,
      tried: [`${wanted.program} (setting carrel.server.path) can't be run`],
      problem: l10n.t("The setting carrel.server.path names {0}, which can't be run.", wanted.program),
      remedy: l10n.t('Correct it, or empty it to use the server that comes with the extension.'),
      lacks: 'setting',
    };
  }
  const versions: string[] = [];
  let libraries: string;
  try {
    libraries = await wanted.libraries();
  } catch (error) {
    const problem = l10n.t("Carrel's server can't be unpacked: {0}.", error instanceof Error ? error.message : String(error));
    return { launch: undefined, tried, problem, remedy: l10n.t('It takes 100 MB of room, once.'), lacks: 'files' };
  }
  const packaged = await bundled(wanted, libraries, machine, tried, versions);
  if (packaged) return { launch: packaged, tried };
  const onPath = await program('carrel', 'PATH', machine);
  if (onPath) return { launch: onPath, tried };
  tried.push('carrel is not on PATH');
  return { launch: undefined, tried, ...explain(wanted, libraries, machine, versions) };
}

function explain(wanted: ServerChoice, libraries: string, machine: Machine, versions: readonly string[]): NoServer {
  const has = [...new Set(versions)].join(', ');
  if (!hasServer(libraries, machine))
    return {
      problem: l10n.t('This build of the extension holds no server.'),
      remedy: l10n.t('Install the one for this platform, or name a carrel program with the setting carrel.server.path.'),
      lacks: 'setting',
    };
  if (wanted.python)
    return {
      problem: has
        ? l10n.t('The setting carrel.server.python names {0}, which is Python {1}.', wanted.python, has)
        : l10n.t("The setting carrel.server.python names {0}, which can't be run.", wanted.python),
      remedy: l10n.t('Carrel needs {0}: correct it, or empty it.', PYTHONS),
      lacks: 'setting',
    };
  return {
    problem: has
      ? l10n.t('Carrel needs {0}, and this machine has only {1}.', PYTHONS, has)
      : l10n.t('Carrel needs {0}, and this machine has none.', PYTHONS),
    remedy: l10n.t('Carrel can get one for itself alone.'),
    lacks: 'python',
  };
}

async function program(command: string, origin: string, machine: Machine): Promise<Launch | undefined> {
  const version = await machine.output(command, ['--version']);
  if (version === undefined) return undefined;
  return { command, args: ['serve'], env: {}, description: `${command} (${origin}, ${version.trim()})` };
}

function hasServer(libraries: string, machine: Machine): boolean {
  return machine.exists(path.join(libraries, 'common', 'carrel'));
}

/** `versions` gets those of the interpreters that don't fit. */
async function bundled(
  wanted: ServerChoice,
  libraries: string,
  machine: Machine,
  tried: string[],
  versions: string[],
): Promise<Launch | undefined> {
  const common = path.join(libraries, 'common');
  if (!hasServer(libraries, machine)) {
    tried.push('this build of the extension holds no server');
    return undefined;
  }
  for (const python of interpreters(wanted, machine)) {
    const version = await pythonVersion(python, machine);
    if (!version) {
      tried.push(`${python} can't be run`);
      continue;
    }
    const compiled = path.join(libraries, `cp${version.replace('.', '')}`);
    if (!machine.exists(compiled)) {
      tried.push(`${python} is Python ${version}, for which this build holds no libraries`);
      versions.push(version);
      continue;
    }
    return {
      command: python,
      // -P: a folder named like a module in the workspace must not become one.
      args: ['-P', '-m', 'carrel', 'serve'],
      env: { PYTHONPATH: [compiled, common].join(machine.windows ? ';' : ':'), PYTHONNOUSERSITE: '1', PYTHONUTF8: '1' },
      description: `bundled server, run by ${python} (Python ${version})`,
      python: version,
    };
  }
  return undefined;
}

function interpreters(wanted: ServerChoice, machine: Machine): readonly string[] {
  if (wanted.python) return [wanted.python];
  const named = ['3.14', '3.13', '3.12', '3.11'].map(version => `python${version}`);
  const usual = machine.windows ? ['python', 'py'] : ['python3', 'python', ...named];
  return [...wanted.own, ...(wanted.editorPython ? [wanted.editorPython] : []), ...usual];
}

async function pythonVersion(python: string, machine: Machine): Promise<string | undefined> {
  const output = await machine.output(python, ['-c', "import sys; print('%d.%d' % sys.version_info[:2])"]);
  return output && /^\s*(\d+\.\d+)\s*$/.exec(output)?.[1];
}

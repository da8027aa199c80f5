/** Which program is the server. Pure but for what `Machine` does, so that every case is tested without an editor. */

import * as path from 'node:path';

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For people: what was chosen, and from where. */
  readonly description: string;
}

export interface ServerChoice {
  /** Setting `carrel.server.path`. */
  readonly program: string;
  /** Setting `carrel.server.python`. */
  readonly python: string;
  /** The interpreter that is active in the editor, if one is known and may be used. */
  readonly editorPython: string | undefined;
  /** The folder that holds the packaged server: `common/` and one `cp3xx/` for each Python version. */
  readonly libraries: string;
}

export interface Machine {
  readonly windows: boolean;
  exists(file: string): boolean;
  /** Standard output of a program that ended well, else undefined. */
  output(command: string, args: readonly string[]): Promise<string | undefined>;
}

/** `tried` says in words what was looked at and why it wasn't taken. */
export type Located =
  | { readonly launch: Launch; readonly tried: readonly string[] }
  | { readonly launch: undefined; readonly tried: readonly string[]; readonly remedy: string };

/** Find the server: the setting, the packaged one, `carrel` on PATH. */
export async function locate(wanted: ServerChoice, machine: Machine): Promise<Located> {
  const tried: string[] = [];
  if (wanted.program) {
    const launch = await program(wanted.program, 'setting carrel.server.path', machine);
    if (launch) return { launch, tried };
    return {
      launch: undefined,
      tried: [`${wanted.program} (setting carrel.server.path) can't be run`],
      remedy: 'Correct the setting carrel.server.path, or empty it to use the server that comes with the extension.',
    };
  }
  const packaged = await bundled(wanted, machine, tried);
  if (packaged) return { launch: packaged, tried };
  const onPath = await program('carrel', 'PATH', machine);
  if (onPath) return { launch: onPath, tried };
  tried.push('carrel is not on PATH');
  return {
    launch: undefined,
    tried,
    remedy:
      'Install Python 3.11 or newer, or choose one with the setting carrel.server.python, or a server with carrel.server.path.',
  };
}

async function program(command: string, origin: string, machine: Machine): Promise<Launch | undefined> {
  const version = await machine.output(command, ['--version']);
  if (version === undefined) return undefined;
  return { command, args: ['serve'], env: {}, description: `${command} (${origin}, ${version.trim()})` };
}

async function bundled(wanted: ServerChoice, machine: Machine, tried: string[]): Promise<Launch | undefined> {
  const common = path.join(wanted.libraries, 'common');
  if (!machine.exists(path.join(common, 'carrel'))) {
    tried.push('this build of the extension holds no server');
    return undefined;
  }
  for (const python of interpreters(wanted, machine)) {
    const version = await pythonVersion(python, machine);
    if (!version) {
      tried.push(`${python} can't be run`);
      continue;
    }
    const compiled = path.join(wanted.libraries, `cp${version.replace('.', '')}`);
    if (!machine.exists(compiled)) {
      tried.push(`${python} is Python ${version}, for which this build holds no libraries`);
      continue;
    }
    return {
      command: python,
      // -P: a folder named like a module in the workspace must not become one.
      args: ['-P', '-m', 'carrel', 'serve'],
      env: { PYTHONPATH: [compiled, common].join(machine.windows ? ';' : ':'), PYTHONNOUSERSITE: '1', PYTHONUTF8: '1' },
      description: `bundled server, run by ${python} (Python ${version})`,
    };
  }
  return undefined;
}

function interpreters(wanted: ServerChoice, machine: Machine): readonly string[] {
  if (wanted.python) return [wanted.python];
  const named = ['3.14', '3.13', '3.12', '3.11'].map(version => `python${version}`);
  const usual = machine.windows ? ['python', 'py'] : ['python3', 'python', ...named];
  return wanted.editorPython ? [wanted.editorPython, ...usual] : usual;
}

async function pythonVersion(python: string, machine: Machine): Promise<string | undefined> {
  const output = await machine.output(python, ['-c', "import sys; print('%d.%d' % sys.version_info[:2])"]);
  return output && /^\s*(\d+\.\d+)\s*$/.exec(output)?.[1];
}

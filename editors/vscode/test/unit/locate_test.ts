import assert from 'node:assert/strict';
import { locate, type Machine, type ServerChoice } from '../../src/server/locate';

const WANTED: ServerChoice = {
  program: '',
  python: '',
  editorPython: undefined,
  own: [],
  libraries: () => Promise.resolve('/ext/libs'),
};
const BUNDLE = ['/ext/libs/common/carrel', '/ext/libs/cp311', '/ext/libs/cp312'];

/** A machine with these files and these programs (Python by its version, Carrel by its own word). */
function machine(files: readonly string[], programs: Readonly<Record<string, string>>): Machine {
  return { windows: false, exists: file => files.includes(file), output: command => Promise.resolve(programs[command]) };
}

async function check(wanted: Partial<ServerChoice>, on: Machine, expected: string): Promise<void> {
  const found = await locate({ ...WANTED, ...wanted }, on);
  assert.match(
    found.launch ? found.launch.description : [...found.tried, found.problem, found.remedy, found.lacks].join('\n'),
    new RegExp(expected),
  );
}

describe('finding the server', () => {
  it('takes what the setting names, and nothing else when that fails', async () => {
    await check(
      { program: '/my/carrel' },
      machine(BUNDLE, { '/my/carrel': 'carrel 0.1.0\n', python3: '3.12' }),
      '^/my/carrel \\(setting',
    );
    await check(
      { program: '/my/carrel' },
      machine(BUNDLE, { carrel: 'carrel 0.1.0', python3: '3.12' }),
      'setting carrel.server.path',
    );
  });

  it("prefers Carrel's own Python, which was put or got there for this", async () => {
    const on = machine([...BUNDLE, '/ext/libs/cp313'], { '/own/python3': '3.13', python3: '3.12' });
    await check({ own: ['/own/python3'], editorPython: '/venv/bin/python' }, on, 'run by /own/python3 \\(Python 3.13\\)');
    await check({ own: ['/own/python3'], python: 'python3' }, on, 'run by python3 ');
  });

  it('prefers the bundled server, and an interpreter that it has libraries for', async () => {
    await check(
      {},
      machine(BUNDLE, { python3: '3.12\n', carrel: 'carrel 0.1.0' }),
      '^bundled server, run by python3 \\(Python 3.12\\)',
    );
    await check({}, machine(BUNDLE, { python3: '3.9', 'python3.11': '3.11' }), '^bundled server, run by python3.11 ');
    await check(
      { editorPython: '/venv/bin/python' },
      machine(BUNDLE, { '/venv/bin/python': '3.11', python3: '3.12' }),
      'run by /venv/bin/python',
    );
    await check({ python: '/opt/python' }, machine(BUNDLE, { '/opt/python': '3.11', python3: '3.12' }), 'run by /opt/python');
  });

  it('never lets the working folder name modules', async () => {
    const { launch } = await locate(WANTED, machine(BUNDLE, { python3: '3.11' }));
    assert.equal(launch?.args[0], '-P');
    assert.equal(launch.env.PYTHONPATH, '/ext/libs/cp311:/ext/libs/common');
  });

  it('says why its files are not to be had, and needs none for a program that a setting names', async () => {
    const libraries = (): Promise<string> => Promise.reject(new Error('no space left on device'));
    const on = machine(BUNDLE, { '/my/carrel': 'carrel 0.1.0', python3: '3.12' });
    await check({ libraries }, on, "can't be unpacked: no space left on device\\.\\nIt takes 100 MB of room, once\\.\\nfiles");
    await check({ libraries, program: '/my/carrel' }, on, '^/my/carrel');
  });

  it('falls back on PATH', async () => {
    await check({}, machine([], { carrel: 'carrel 0.1.0', python3: '3.12' }), '^carrel \\(PATH');
  });

  for (const [what, wanted, on, problem, lacks] of [
    ['no Python', {}, machine(BUNDLE, {}), 'needs Python 3.11 to 3.14, and this machine has none', 'python'],
    ['one that is too old', {}, machine(BUNDLE, { python3: '3.9', python: '3.9' }), 'this machine has only 3.9\\.', 'python'],
    ['one that is too new', {}, machine(BUNDLE, { python3: '3.15' }), 'this machine has only 3.15\\.', 'python'],
    [
      'a setting that names none',
      { python: '/x' },
      machine(BUNDLE, { python3: '3.12' }),
      "names /x, which can't be run",
      'setting',
    ],
    [
      'a setting that names an old one',
      { python: '/x' },
      machine(BUNDLE, { '/x': '3.10' }),
      '/x, which is Python 3.10',
      'setting',
    ],
    ['no server in the package', {}, machine([], { python3: '3.12' }), 'holds no server', 'setting'],
  ] as const) {
    it(`says in a sentence that there is ${what}, and what is missing`, async () => {
      await check(wanted, on, `${problem}(.|\n)*${lacks}$`);
    });
  }
});

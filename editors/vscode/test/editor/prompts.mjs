// node test/editor/prompts.mjs INSTALL VSIX PYTHON: what @carrel sends in 12 questions about two projects that Carrel was not made with, four of them
// follow-ups and two of a selection: test/prompts/conversations.json, in a real VS Code. PYTHON is the repository's own (.venv/bin/python); it fetches the
// projects, pinned by hash (tests/bench/spans_packages.py). Prints a table of what of the answers' lines stood in each prompt.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [install, vsix, python] = process.argv.slice(2).map(path => resolve(path));
const here = fileURLToPath(new URL('.', import.meta.url));
const repository = join(here, '../../../..');
const FOLDERS = `
from tests.bench.spans_packages import packages, sources
import sys, pathlib
for package in packages():
    if package.package.split("/")[-1] == sys.argv[1]:
        print(sources(package, pathlib.Path.home() / ".cache" / "carrel-bench-spans" / "packages"))
`;
const work = mkdtempSync(join(tmpdir(), 'carrel-prompts-'));
const results = join(work, 'results.jsonl');
writeFileSync(results, '');
let good = true;
try {
  for (const { package: name } of JSON.parse(readFileSync(join(here, '../prompts/conversations.json'), 'utf8'))) {
    const options = { cwd: repository, encoding: 'utf8' };
    const source = execFileSync(python, ['-c', FOLDERS, name], options).trim();
    const project = join(work, name); // an address holds it: no signs that mean something there
    cpSync(source, project, { recursive: true });
    // An answer that names other places than those of the project would mislead the search for a follow-up.
    const env = {
      ...process.env,
      CARREL_PROMPTS_PACKAGE: name,
      CARREL_PROMPTS_RESULTS: results,
      RECORDING_ANSWERS: 'places',
    };
    const run = spawnSync(process.execPath, [join(here, 'run.mjs'), install, vsix, 'prompts', project], {
      env,
      stdio: 'inherit',
    });
    good = run.status === 0 && good;
  }
  const rows = readFileSync(results, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));
  console.log(
    '| project | question | kind | answer’s lines sent | earlier turns | characters | ms |\n| --- | --- | --- | --- | --- | --- | --- |',
  );
  for (const row of rows)
    console.log(
      `| ${row.package} | ${row.ask} | ${row.kind} | ${Math.round(100 * row.share)} % | ${row.kind === 'follow-up' ? (row.history ? 'yes' : 'no') : ''} | ${row.characters.toLocaleString('en-US')} | ${row.ms.toLocaleString('en-US')} |`,
    );
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(good ? 0 : 1);

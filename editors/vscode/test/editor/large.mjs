// node test/editor/large.mjs INSTALL VSIX [PICTURES]: a project of 50,000 files in a real VS Code: numbers that move, a question while it is
// indexed, cancel, resume; says how long each took.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVSIX } from '@vscode/vsce';
import { Editor } from './editor.mjs';

const FILES = 50_000;
const WORDS =
  'order invoice parcel customer ledger stock route driver label refund coupon tax price cart user session token queue'.split(
    ' ',
  );
const [install, vsix, pictures] = process.argv.slice(2).map(path => resolve(path));
const work = mkdtempSync(join(tmpdir(), 'carrel-large-'));
const recording = join(work, 'recording.vsix');
await createVSIX({
  cwd: fileURLToPath(new URL('recording', import.meta.url)),
  allowStarActivation: true,
  packagePath: recording,
  dependencies: false,
  skipLicense: true,
  allowMissingRepository: true,
});
let passed = 0;
let began = Date.now();

/** Python, TypeScript and Go, each file with a name of its own. */
function writeLarge(root) {
  for (let folder = 0; folder < 500; folder += 1)
    mkdirSync(join(root, `area${folder % 50}/package${folder}`), { recursive: true });
  const write = (name, text) => writeFileSync(join(root, name), text);
  write(
    'auth.py',
    'def authenticate_user(name, password):\n    """Check a login against the user table."""\n    return load(name).verify(password)\n',
  );
  for (let i = 1; i < FILES; i += 1) {
    const [a, b] = [WORDS[i % 18], WORDS[Math.floor(i / 18) % 18]];
    const place = `area${i % 50}/package${i % 500}/${a}_${b}_${i}`;
    if (i % 3 === 0)
      write(
        `${place}.py`,
        `def ${a}_${b}_${i}(value):\n    """Return the ${b} of this ${a}."""\n    return value * ${i}\n\n\nclass Holder${i}:\n    def ${b}(self):\n        return self.${a}\n`,
      );
    else if (i % 3 === 1)
      write(
        `${place}.ts`,
        `export function ${a}${i}(value: number): number {\n  const ${b} = value * ${i};\n  return ${b} + 1;\n}\n`,
      );
    else
      write(
        `${place}.go`,
        `package ${a}\n\n// Make${i} makes the ${b}.\nfunc Make${i}(value int) int {\n\treturn value * ${i}\n}\n`,
      );
  }
}

const editor = await Editor.start({
  install,
  vsix: [vsix, recording],
  settings: { 'workbench.colorTheme': 'Default Light Modern' },
});
const picture = name => pictures && editor.page.screenshot({ path: join(pictures, `large-${name}.png`) });

async function step(name, run) {
  began = Date.now();
  await run();
  passed += 1;
  console.log(`  ✔ ${name} (${((Date.now() - began) / 1_000).toFixed(1)} s)`);
  await picture(passed);
}

try {
  if (pictures) mkdirSync(pictures, { recursive: true });
  const project = join(work, 'large');
  writeLarge(project);
  const { page, go } = await editor.open(project, [], { width: 1240, height: 780 });
  page.setDefaultTimeout(120_000);
  const status = page.locator('.statusbar-item[id^="carrel.carrel"]');
  /** Texts of the status bar until one fits, as they come. */
  const follow = async fits => {
    const texts = [];
    for (const end = Date.now() + 300_000; Date.now() < end;) {
      const text = (await status.textContent().catch(() => '')) ?? '';
      if (text !== texts.at(-1)) texts.push(text);
      if (fits(text, texts)) return texts;
      await new Promise(later => setTimeout(later, 50));
    }
    throw new Error(`the status bar said: ${texts.join(' | ')}`);
  };
  const numbers = texts => new Set(texts.map(text => /([\d,]+) of 50,000 files/.exec(text)?.[1]).filter(Boolean));

  await step('it opens, with the memory off', async () => {
    await go();
    await status.getByText('Carrel: on request').waitFor();
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
  });

  await step('the numbers move; cancelled, the run says what it kept', async () => {
    await page.getByRole('button', { name: 'Remember This Project', exact: true }).click();
    let first;
    await follow((_, texts) => {
      if (numbers(texts).size === 1) first ??= Date.now() - began;
      return numbers(texts).size >= 3;
    });
    console.log(`    first number after ${(first / 1_000).toFixed(1)} s`);
    await picture('indexing');
    const cancelling = Date.now();
    await page
      .locator('.notification-toast .monaco-button, .notification-list-item .monaco-button')
      .filter({ hasText: /^Cancel$/ })
      .first()
      .click();
    await page
      .locator('.statusbar-item')
      .getByText(/cancelled, [\d,]+ files kept/)
      .waitFor();
    console.log(`    cancelled after ${((Date.now() - cancelling) / 1_000).toFixed(1)} s`);
  });

  await step('the status bar says how much there is', async () => {
    const texts = await follow(text => /of 50,000 files: resume/.test(text));
    console.log(`    ${texts.at(-1).trim()}`);
    await page.keyboard.press('Control+Alt+I');
    await page.locator('.interactive-input-part .monaco-editor').first().click();
    await page.keyboard.type('@carrel how is a login checked?', { delay: 15 });
    await page.keyboard.press('Escape');
  });

  await step('a question is answered while the rest is indexed', async () => {
    await status.click();
    await page.mouse.move(620, 300); // no hover in front of the chat
    const asked = Date.now();
    await page.locator('.interactive-input-part .monaco-editor').first().click();
    await page.keyboard.press('Enter');
    const first = await follow(text => /indexing|ready/.test(text));
    console.log(`    asked while the status bar said: ${first.at(-1).trim()}`);
    await page.locator('.interactive-response').getByText('Logins are checked in').waitFor();
    console.log(
      `    answered after ${((Date.now() - asked) / 1_000).toFixed(1)} s, status bar: ${(await status.textContent())?.trim()}`,
    );
    await picture('asked');
    const sent = JSON.parse(readFileSync(editor.recording, 'utf8').trim().split('\n').at(-1)).at(-1).text;
    assert(sent.includes('how is a login checked?'), sent);
  });

  await step('then all of it is there', async () => {
    await follow(text => /Carrel: ready/.test(text));
    await page.getByRole('treeitem', { name: /^Files: 50,000/ }).waitFor();
  });

  await step('and a question finds the one file that answers it', async () => {
    await page.locator('.interactive-input-part .monaco-editor').first().click();
    await page.keyboard.type('@carrel which function checks a login against the user table?', { delay: 15 });
    await page.keyboard.press('Escape');
    const asked = Date.now();
    await page.keyboard.press('Enter');
    await page.locator('.interactive-response').nth(1).getByText('Logins are checked in').waitFor();
    console.log(`    answered after ${((Date.now() - asked) / 1_000).toFixed(1)} s`);
    const sent = JSON.parse(readFileSync(editor.recording, 'utf8').trim().split('\n').at(-1)).at(-1).text;
    assert(sent.includes('def authenticate_user'), sent);
  });
  console.log(`${passed} passed, 0 failed`);
} catch (error) {
  console.error(error);
  await picture('failed');
  console.log(`${passed} passed, 1 failed`);
  process.exitCode = 1;
} finally {
  await editor.stop();
  rmSync(work, { recursive: true, force: true });
}

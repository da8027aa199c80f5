// node test/editor/language.mjs INSTALL VSIX LANGUAGES [PICTURES]: the extension in an editor that is set to each of these languages, as "de,zh-cn". No
// language pack is installed, so the editor's own texts stay English. With PICTURES, a folder, it keeps screenshots there.
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Editor } from './editor.mjs';
import { writeProject } from './project.mjs';

const [install, vsix] = process.argv.slice(2, 4).map(path => resolve(path));
const languages = process.argv[4].split(',');
const pictures = process.argv[5] && resolve(process.argv[5]);
const json = file => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));
if (pictures) mkdirSync(pictures, { recursive: true });
let passed = 0;

for (const language of languages) {
  const texts = json(`l10n/bundle.l10n.${language}.json`);
  const titles = json(`package.nls.${language}.json`);
  const editor = await Editor.start({ install, vsix: [vsix] });
  try {
    const project = join(editor.folder, 'shop');
    mkdirSync(project);
    writeProject(project, 5);
    const { page, go } = await editor.open(project, [], { width: 1240, height: 780 });
    page.setDefaultTimeout(30_000);
    // What the page of a translated editor sets first.
    await page.addInitScript(name => (globalThis._VSCODE_NLS_LANGUAGE = name), language);
    await go();
    await page.locator('.activitybar .action-label[aria-label^="Carrel"]').click();
    await page.getByRole('button', { name: titles['command.turnOn'], exact: true }).waitFor();
    await page.locator('.statusbar-item[id^="carrel.carrel"]').getByText(texts['Carrel: on request']).waitFor();
    await page.getByRole('button', { name: titles['command.turnOn'], exact: true }).click();
    await page.getByRole('treeitem', { name: new RegExp(`^${texts.Index}: ${texts.ready}`) }).waitFor();
    await editor.command(`Carrel: ${titles['command.walkthrough']}`);
    await page.getByText(titles['walkthrough.ask.title']).first().waitFor();
    await page.keyboard.press('Control+Alt+I');
    await page.locator('.interactive-input-part .monaco-editor').first().click();
    await page.keyboard.type('@carrel how is a login checked?', { delay: 15 });
    await page.keyboard.press('Escape'); // closes the list of suggestions
    await page.keyboard.press('Enter');
    const answer = page.locator('.interactive-response').last();
    await answer.getByText(texts['These places of the project fit the question:']).waitFor();
    await answer.getByText(new RegExp(`^${texts['Receipt: {0}, {1}'].split('{')[0]}`)).click();
    const defines = texts['defines {0}'].replace('{0}', 'authenticate_user');
    await page
      .getByRole('treeitem', { name: new RegExp(defines, 'i') })
      .first()
      .waitFor();
    if (pictures) await page.screenshot({ path: join(pictures, `language-${language}.png`) });
    passed += 1;
    console.log(`  ✔ ${language}`);
  } catch (error) {
    console.error(error);
    if (pictures) await editor.page?.screenshot({ path: join(pictures, `language-${language}-failed.png`) });
    process.exitCode = 1;
  } finally {
    await editor.stop();
  }
}
console.log(`${passed} passed, ${languages.length - passed} failed`);

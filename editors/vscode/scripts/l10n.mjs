// `node scripts/l10n.mjs`: whether the translations have the texts of the source and of package.json: all of them, no others, with the
// same placeholders. What is missing is printed, to be translated.
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

const json = file => JSON.parse(readFileSync(file, 'utf8'));
const problems = [];

compare('l10n/bundle.l10n', sourceTexts(), 'l10n', name => /^bundle\.l10n\.(.+)\.json$/.exec(name)?.[1]);
const english = json('package.nls.json');
const named = new Set([...readFileSync('package.json', 'utf8').matchAll(/"%([\w.-]+)%"/g)].map(([, key]) => key));
for (const key of named) if (!(key in english)) problems.push(`package.nls.json lacks ${key}`);
for (const key in english) if (!named.has(key)) problems.push(`package.nls.json: package.json has no %${key}%`);
compare('package.nls', new Map(Object.entries(english)), '.', name => /^package\.nls\.(.+)\.json$/.exec(name)?.[1]);
const manifest = json('package.json');
for (const page of manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.markdown))) {
  for (const language of languages('l10n', name => /^bundle\.l10n\.(.+)\.json$/.exec(name)?.[1])) {
    const translated = page.replace(/\.md$/, `.nls.${language}.md`);
    if (!readdirSync('media/walkthrough').includes(translated.split('/').pop())) problems.push(`${translated} is missing`);
  }
}
if (problems.length) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}

function languages(folder, languageOf) {
  return readdirSync(folder).flatMap(name => languageOf(name) ?? []);
}

/** `texts`: by key, in English. */
function compare(stem, texts, folder, languageOf) {
  for (const language of languages(folder, languageOf)) {
    const file = `${stem}.${language}.json`;
    const translated = json(file);
    for (const [key, text] of texts) {
      const given = translated[key];
      if (!given?.trim() && text.trim()) problems.push(`${file} lacks ${JSON.stringify(key)}`);
      else if (marks(given ?? '') !== marks(text))
        problems.push(`${file}: other placeholders, commands or code than ${JSON.stringify(text)}`);
    }
    for (const [key, text] of Object.entries(translated))
      if (showsAsterisks(text))
        problems.push(`${file}: Markdown shows the asterisks where a sign ends what is bold in ${JSON.stringify(key)}`);
    for (const key in translated) if (!texts.has(key)) problems.push(`${file}: nothing says ${JSON.stringify(key)}`);
  }
}

/** Two asterisks end nothing between a punctuation mark and a letter, which is usual where no spaces are written. */
function showsAsterisks(text) {
  return /\*\*[^*]*\p{P}\*\*[^\s\p{P}]/u.test(text);
}

/** What a translation must keep: placeholders, targets of links, code. */
function marks(text) {
  return (text.match(/\{\w+\}|\]\([^)]*\)|`[^`]*`/g) ?? []).sort().join(' ');
}

/** The literals that `l10n.t` is called with. */
function sourceTexts() {
  const texts = new Map();
  const visit = node => {
    if (ts.isCallExpression(node) && /\bl10n\.t$/.test(node.expression.getText())) {
      const [text] = node.arguments;
      if (text && ts.isStringLiteralLike(text)) texts.set(text.text, text.text);
      else problems.push(`${node.getSourceFile().fileName}: l10n.t takes one literal: ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  for (const name of readdirSync('src', { recursive: true })) {
    if (!name.endsWith('.ts')) continue;
    const file = `src/${name.replaceAll('\\', '/')}`;
    visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  }
  return texts;
}

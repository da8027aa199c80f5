// docs/messages.md: everything that the extension says to a person, found in its source.
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** What is called to say something, and how a person sees it. */
const SAID_BY = {
  showInformationMessage: 'notification',
  showWarningMessage: 'warning',
  showErrorMessage: 'error',
  setStatusBarMessage: 'status bar, for some seconds',
  about: 'status bar',
  markdown: 'chat',
  progress: 'chat, while it works',
  withProgress: 'progress',
  showInputBox: 'input',
  showQuickPick: 'list',
  showOpenDialog: 'dialog for a folder',
  fail: 'error',
  tell: 'warning',
  Error: 'error',
  ServerUnavailable: 'error',
};
/** What is put somewhere in place of being called with, and how a person sees it. */
const SHOWN_AS = { title: 'list', placeholder: 'list', problem: 'error', remedy: 'error' };
/** Sentences have a blank between words; what hasn't is a key, an icon or a button. */
const SENTENCE = /\p{L}+[ ,:][^]*\p{L}/u;

/** The page; `folder` is the extension's, with a slash at its end. */
export function messagesPage(folder) {
  const rows = new Map();
  for (const name of sources(new URL('src/', folder))) {
    const tree = ts.createSourceFile(name.pathname, readFileSync(name, 'utf8'), ts.ScriptTarget.Latest, true);
    const visit = node => {
      if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
        const said = SAID_BY[nameOf(node.expression)];
        if (said) for (const text of (node.arguments ?? []).flatMap(texts)) rows.set(text, said);
      }
      if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken)
        add(node.right, SHOWN_AS[nameOf(node.left)]);
      if (ts.isPropertyAssignment(node) && ['problem', 'remedy'].includes(node.name.getText()))
        add(node.initializer, SHOWN_AS[node.name.getText()]);
      // What is wrong with a text, said while it is typed; and the questions of the dialog for permissions.
      if (ts.isFunctionDeclaration(node) && node.name?.text.endsWith('Problem'))
        for (const found of returned(node)) add(found, 'input, while it is typed');
      if (ts.isVariableDeclaration(node) && node.name.getText() === 'QUESTIONS')
        for (const [, question] of entries(node.initializer)) add(question, 'dialog');
      ts.forEachChild(node, visit);
    };
    const add = (node, said) => said && texts(node).forEach(text => rows.has(text) || rows.set(text, said));
    visit(tree);
  }
  const all = [...rows].filter(([text]) => SENTENCE.test(text)).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    '# Messages',
    '',
    'What the VS Code extension says, generated from its source by `npm run generate` in `editors/vscode`. `…` stands for what is put in at that',
    'moment: a number, a name, or a reason that the server gave.',
    '',
    '| message | seen as |',
    '| --- | --- |',
    ...all.map(([text, said]) => `| ${text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')} | ${said} |`),
    '',
  ].join('\n');
}

/** What a function returns. */
function returned(node) {
  if (ts.isReturnStatement(node)) return node.expression ? [node.expression] : [];
  const found = [];
  ts.forEachChild(node, child => void found.push(...returned(child)));
  return found;
}

/** The pairs of `new Map([...])`. */
function entries(node) {
  const [pairs] = node?.arguments ?? [];
  return pairs ? pairs.elements.map(pair => pair.elements) : [];
}

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry =>
    entry.isDirectory() ? sources(new URL(`${entry.name}/`, folder)) : [new URL(entry.name, folder)],
  );
}

function nameOf(expression) {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
}

/** The literals of an argument, not those of calls inside it. */
function texts(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')];
  if (ts.isIdentifier(node)) {
    const value = constant(node);
    return value ? texts(value) : [];
  }
  if (ts.isConditionalExpression(node)) return [node.whenTrue, node.whenFalse].flatMap(texts);
  if (ts.isBinaryExpression(node)) return [node.left, node.right].flatMap(texts);
  if (ts.isObjectLiteralExpression(node))
    return node.properties.filter(ts.isPropertyAssignment).flatMap(property => texts(property.initializer));
  return [];
}

/** What a name stands for, where the same file says it with `const`. */
function constant(identifier) {
  let found;
  const visit = node => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === identifier.text) found ??= node.initializer;
    else if (!found) ts.forEachChild(node, visit);
  };
  visit(identifier.getSourceFile());
  return found && !ts.isIdentifier(found) ? found : undefined;
}

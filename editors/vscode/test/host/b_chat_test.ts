import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { carrel, fileIn, until } from './carrel';
import { lastOf, saidAgain, say, sayNext } from './chat';

const QUESTION = 'how is a login checked, and by which function?';

async function edit(path: string, find: string, replacement: string): Promise<vscode.TextDocument> {
  const document = await vscode.workspace.openTextDocument(fileIn(path));
  const editor = await vscode.window.showTextDocument(document);
  const at = document.getText().indexOf(find);
  assert(at >= 0, `${find} is in ${path}`);
  const range = new vscode.Range(document.positionAt(at), document.positionAt(at + find.length));
  assert(await editor.edit(builder => builder.replace(range, replacement)));
  return document;
}

describe('@carrel', () => {
  it('puts the context in front and leaves the words of the person as they are', async () => {
    const { receipts } = await carrel();
    const messages = await say(`@carrel ${QUESTION}`);
    const text = lastOf(messages);
    assert(text.startsWith('<rag_context>\n'), text.slice(0, 100));
    assert(text.endsWith(`</rag_context>\n\n${QUESTION}`), text.slice(-200));
    assert.match(text, /<code_context file="src\/auth\.py" lines="1-4" symbol="authenticate_user">\ndef authenticate_user/);
    assert.doesNotMatch(text, /hunter2|wombat/);
    const context = text.slice(0, text.length - QUESTION.length - 2);
    const { shown } = receipts;
    assert.equal(shown?.question.text, QUESTION);
    const { tokens, budgetTokens = 1_000 } = shown.pack;
    assert(tokens <= budgetTokens, `${tokens} of ${budgetTokens} tokens`);
    assert.equal(shown.pack.text, context, 'the receipt shows what was sent');
  });

  it('has the model say a vague question in the words of the code, shown a map of the project', async () => {
    const { receipts } = await carrel();
    const before = saidAgain().length;
    const text = lastOf(await say('@carrel who is let through the door?'));
    const [asked, ...more] = saidAgain().slice(before);
    assert.deepEqual(more, [], 'once');
    assert.match(lastOf(asked ?? []), /^<map>\n[^]*\bauth\b[^]*<question>\nwho is let through the door\?\n/);
    assert.match(text, /<code_context file="src\/auth\.py" lines="1-4" symbol="authenticate_user">/);
    assert(text.endsWith('who is let through the door?'), 'the words of the person go to the model');
    assert.equal(receipts.shown?.pack.rewritten, 'authenticate_user: how a login is checked');
    await say('@carrel how is a login checked against the user table?');
    assert.equal(saidAgain().length, before + 1, 'a question in the words of the code needs no help');
  });

  it('keeps to the budget that was set', async () => {
    await vscode.workspace.getConfiguration('carrel').update('budget', { tokens: 120 }, vscode.ConfigurationTarget.Workspace);
    const { receipts } = await carrel();
    const pack = await until('a pack of the new budget', async () => {
      await say('@carrel what does function_7_3 return?');
      const shown = receipts.shown?.pack;
      return shown?.budgetTokens === 120 && shown;
    });
    assert(pack.tokens <= 120, `${pack.tokens} tokens`);
    await vscode.workspace.getConfiguration('carrel').update('budget', undefined, vscode.ConfigurationTarget.Workspace);
  });

  it('reflects an edit that was not saved', async () => {
    const document = await edit(
      'src/auth.py',
      'row is not None and row.verify(password)',
      'row.verify_with_argon2(password)  # unsaved',
    );
    assert(
      document.isDirty,
      `before the question; autosave ${String(vscode.workspace.getConfiguration('files').get('autoSave'))}`,
    );
    const text = lastOf(await say(`@carrel ${QUESTION}`));
    assert(document.isDirty, 'still unsaved after the question');
    assert.match(text, /verify_with_argon2/);
    assert.doesNotMatch(text, /row is not None/);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });

  it('gives no place to instructions for agents, which the editor attaches by itself', async () => {
    const instructions = fileIn('AGENTS.md').fsPath;
    writeFileSync(instructions, '# Instructions\n\nWrite short commit messages. Prefer tabs.\n');
    try {
      const text = lastOf(await say(`@carrel ${QUESTION}`));
      assert.match(text, /authenticate_user/);
      assert.doesNotMatch(text, /short commit messages/);
    } finally {
      rmSync(instructions);
    }
  });

  it('gives its places to any other chat as attachments, which go with the question', async () => {
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    await vscode.commands.executeCommand('workbench.action.chat.newChat');
    const pack = await vscode.commands.executeCommand<{ hits: { path: string; startLine: number; endLine: number }[] }>(
      'carrel.insertContext',
      QUESTION,
    );
    const messages = await sayNext(`@attached ${QUESTION}`);
    const attached = JSON.parse(lastOf(messages)) as { path: string; lines: [number, number] }[];
    const [first] = pack.hits;
    assert(first);
    assert.deepEqual(
      attached.find(({ path }) => path.endsWith(`/${first.path}`))?.lines,
      [first.startLine, first.endLine],
      JSON.stringify(attached),
    );
    assert(pack.hits.every(({ path }) => attached.some(one => one.path.endsWith(`/${path}`))));
  });

  it('gives each place of a file, not the first alone', async () => {
    const file = fileIn('src/far.py');
    const between = Array.from({ length: 400 }, (_, i) => `def entry_${i}(row):\n    return row[${i}]\n`).join('\n\n');
    const [freeze, thaw] = ['freeze', 'thaw'].map(name => `def ${name}_ledger(book):\n    return book.${name}()\n`);
    writeFileSync(file.fsPath, [freeze, between, thaw].join('\n\n'));
    try {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      await until('both places', async () => {
        const found = await vscode.commands.executeCommand<{ text: string } | undefined>(
          'carrel.copyContext',
          'freeze_ledger and thaw_ledger',
        );
        return ['freeze_ledger(book)', 'thaw_ledger(book)'].every(text => found?.text.includes(text)) && found;
      });
      await vscode.commands.executeCommand('workbench.action.chat.newChat');
      await vscode.commands.executeCommand('carrel.insertContext', 'freeze_ledger and thaw_ledger');
      const messages = await sayNext('@attached freeze_ledger and thaw_ledger');
      const attached = JSON.parse(lastOf(messages)) as { path: string; text: string }[];
      const texts = attached.filter(({ path }) => path === file.path).map(({ text }) => text);
      assert(
        texts.some(text => text.includes('def freeze_ledger')) && texts.some(text => text.includes('def thaw_ledger')),
        texts.join('\n---\n'),
      );
      assert(!texts.some(text => text.includes('def entry_200(')), 'only its places');
    } finally {
      rmSync(file.fsPath);
    }
  });

  it('tells the model the whole conversation, in the words of the person and of the model', async () => {
    const { receipts } = await carrel();
    const answered = (): Promise<unknown> => until('the answer', () => receipts.shown?.outcome === 'sent');
    await say(`@carrel ${QUESTION}`);
    await answered();
    await vscode.commands.executeCommand('workbench.action.chat.open', { query: '@carrel /search total_price of an order' });
    await until('the list', () => receipts.shown?.question.text.startsWith('total_price'));
    await vscode.commands.executeCommand('workbench.action.chat.open', { query: '@carrel /docs' });
    const messages = await sayNext('@carrel and who calls it?');
    const [instructions, first, answer, next, listed, ...rest] = messages.map(({ text }) => text);
    assert.match(instructions ?? '', /^You answer questions/);
    assert.equal(first, QUESTION);
    assert.equal(answer, 'Logins are checked in `src/auth.py:1-4`, by authenticate_user.');
    assert.equal(next, 'total_price of an order', 'what Carrel says is searched for as no word of the person');
    assert.match(listed ?? '', /^These places of the project fit the question:\n(.*\n)*- src\/orders\.py:\d+-\d+/);
    assert.equal(rest.length, 1, 'a command without words leaves nothing');
    assert.match(rest[0] ?? '', /and who calls it\?$/);
    assert.deepEqual(
      receipts.shown?.details.history?.map(({ role }) => role),
      ['user', 'assistant', 'user', 'assistant'],
      'the search gets it too',
    );
  });

  it('shows the places where the model says nothing', async () => {
    await say('@carrel how is a login checked? say nothing');
    const again = await sayNext('@carrel and by which function?');
    const text = again.map(message => message.text).join('\n');
    assert.match(text, /These places of the project fit the question:\n- src\/auth\.py:1-4/);
  });

  it('sends what is selected, once, whatever else is found', async () => {
    const document = await vscode.workspace.openTextDocument(fileIn('src/orders.py'));
    const editor = await vscode.window.showTextDocument(document);
    editor.selection = new vscode.Selection(4, 0, 6, 0);
    const { receipts } = await carrel();
    for (const question of ['what does this do?', '/explain']) {
      const text = lastOf(await say(`@carrel ${question}`));
      assert.equal(text.split('def total_price').length - 1, 1, text);
      const chosen = receipts.shown?.pack.hits.filter(({ attached }) => attached) ?? [];
      assert.deepEqual(
        chosen.map(({ path }) => path),
        ['src/orders.py'],
      );
    }
    editor.selection = new vscode.Selection(0, 0, 0, 0);
    await say('@carrel what does this do?');
    assert(receipts.shown?.pack.hits.every(({ attached }) => !attached));
  });

  it('is not there for others: with the memory off, another chat gets just the words', async () => {
    assert.equal(vscode.workspace.getConfiguration('carrel').get('ragEnabled'), false);
    const { receipts, server } = await carrel();
    const before = receipts.all.length;
    const messages = await say(`@plain ${QUESTION}`);
    assert.deepEqual(
      messages.map(({ text }) => text),
      [QUESTION],
    );
    assert.equal(receipts.all.length, before);
    const turn = await server.request('carrel/augment', { text: QUESTION, trigger: 'chat' });
    assert.equal(turn.text, QUESTION);
  });

  it('goes on after the server was killed', async () => {
    const { server } = await carrel();
    const running = server.state;
    assert(running.kind === 'running' && running.pid);
    process.kill(running.pid, 'SIGKILL');
    const text = lastOf(await say(`@carrel ${QUESTION}`));
    assert.match(text, /authenticate_user/);
    const again = await until('a new server', () => server.state.kind === 'running' && server.state);
    assert.notEqual(again.pid, running.pid);
  });

  it('starts the server again by itself', async () => {
    const { server } = await carrel();
    const running = server.state;
    assert(running.kind === 'running' && running.pid);
    process.kill(running.pid, 'SIGKILL');
    await until('the loss is noticed', () => server.state.kind !== 'running');
    const again = await until('a new server', () => server.state.kind === 'running' && server.state);
    assert.notEqual(again.pid, running.pid);
  });
});

describe('#carrel', () => {
  it('gives an agent the places in the form that tools use', async () => {
    const tool = vscode.lm.tools.find(({ name }) => name === 'carrel_search');
    assert(tool, 'the tool is registered');
    const input = { query: 'configure the database pool', maxResults: 2 };
    const result = await vscode.lm.invokeTool('carrel_search', { input, toolInvocationToken: undefined });
    const text = result.content.map(part => (part instanceof vscode.LanguageModelTextPart ? part.value : '')).join('');
    assert.match(text, /^--- src\/pool\.ts \(lines \d+-\d+, relevance: [01]\.\d\d\) ---\n/);
    assert.match(text, /configurePool/);
    assert((text.match(/^--- /gm) ?? []).length <= 2);
  });

  it('keeps to a glob, and says when nothing fits', async () => {
    const input = { query: 'configure the database pool', pathGlob: 'nowhere/**' };
    const result = await vscode.lm.invokeTool('carrel_search', { input, toolInvocationToken: undefined });
    assert.deepEqual(
      result.content.map(part => (part as vscode.LanguageModelTextPart).value),
      ['No relevant code found.'],
    );
  });
});

describe('the receipt', () => {
  it('shows place, score, words, budget and what was left out; pins, removes and repeats', async () => {
    const { receipts, receiptView } = await carrel();
    const pack = await vscode.commands.executeCommand<{ id: string }>('carrel.copyContext', QUESTION);
    assert.equal(receipts.shown?.pack.id, pack.id);
    const roots = receiptView.tree.getChildren();
    const hit = roots.find(({ label }) => label.startsWith('auth.py:1-')) ?? assert.fail(roots.map(({ label }) => label).join());
    assert.match(hit.description ?? '', /^0\.\d\d · Defines authenticate_user and holds .*“login”/);
    const score = hit.children?.find(({ label }) => label === 'How the score adds up');
    const shares = score?.children?.map(({ label }) => Number(label.replace('−', '-'))) ?? [];
    assert(shares.length > 2);
    assert.equal(shares.reduce((total, share) => total + share, 0).toFixed(2), score?.description);
    assert(hit.description?.startsWith(score?.description ?? '?'));
    assert.match(roots.find(({ label }) => label === 'Budget')?.description ?? '', /^[\d,]+ of 1,000 tokens$/);
    assert.doesNotThrow(() => roots.map(node => receiptView.tree.getTreeItem(node)));

    await vscode.commands.executeCommand('carrel.receipt.open', hit);
    assert.equal(vscode.window.activeTextEditor?.document.uri.path, fileIn('src/auth.py').path);
    assert.equal(vscode.window.activeTextEditor.selection.start.line, 0);

    await vscode.commands.executeCommand('carrel.receipt.remove', hit);
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    assert.notEqual(receipts.shown.pack.id, pack.id);
    assert(!receipts.shown.pack.hits.some(({ path }) => path === 'src/auth.py'), 'what was removed stays out');
    const group = receiptView.tree.getChildren().find(({ label }) => label === 'Excluded by you');
    assert.deepEqual(
      group?.children?.map(({ label }) => label),
      [`src/${hit.label}`],
    );
    await vscode.commands.executeCommand('carrel.receipt.restore', group.children[0]);
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    assert(
      receipts.shown.pack.hits.some(({ path }) => path === 'src/auth.py'),
      'what was restored may come again',
    );

    const other = { place: { uri: fileIn('src/orders.py').toString(), path: 'src/orders.py', startLine: 1, endLine: 6 } };
    await vscode.commands.executeCommand('carrel.receipt.pin', other);
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    assert(
      receipts.shown.pack.hits.some(({ path }) => path === 'src/orders.py'),
      'what was pinned is in',
    );
    await vscode.commands.executeCommand('carrel.receipt.unpin', other);
    assert.deepEqual(receipts.pinned, []);
  });

  it('takes out one place of a file, or the whole file', async () => {
    const { receipts } = await carrel();
    const repeat = async (): Promise<string> => {
      await vscode.commands.executeCommand('carrel.receipt.repeat');
      return receipts.shown?.pack.text ?? '';
    };
    await vscode.commands.executeCommand('carrel.copyContext', 'how is a parcel or a letter stamped by its weight?');
    const hit = receipts.shown?.pack.hits.find(({ path }) => path === 'src/stamps.py') ?? assert.fail();
    const parcel = { ...hit, startLine: 1, endLine: 4 }; // the answer joined it with its neighbour
    await vscode.commands.executeCommand('carrel.receipt.remove', { place: parcel });
    const without = await repeat();
    assert(!without.includes('first = weight') && without.includes('second = weight'), without);
    await vscode.commands.executeCommand('carrel.receipt.removeFile', { place: hit });
    assert.doesNotMatch(await repeat(), /stamp_/);
    await vscode.commands.executeCommand('carrel.receipt.restore', { place: hit });
    assert.match(await repeat(), /first = weight[^]*second = weight/);
  });

  it('takes a file at the root by its path, pinned or not', async () => {
    const { receipts } = await carrel();
    const question = 'what are logins and orders in this small shop';
    await vscode.commands.executeCommand('carrel.copyContext', question);
    const place = receipts.shown?.pack.hits.find(({ path }) => path === 'README.md') ?? assert.fail();
    await vscode.commands.executeCommand('carrel.receipt.pin', { place });
    await vscode.commands.executeCommand('carrel.receipt.removeFile', { place });
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    await vscode.commands.executeCommand('carrel.receipt.unpin', { place });
    const paths = receipts.shown?.pack.hits.map(({ path }) => path) ?? [];
    assert(paths.length > 0 && !paths.includes('README.md'), paths.join());
  });

  it('repeats a question as it was asked', async () => {
    const { receipts } = await carrel();
    const paths = (): string[] => receipts.shown?.pack.hits.map(({ path }) => path) ?? [];
    await say('@carrel /docs what are orders and logins?');
    const asked = await until('the answer', () => receipts.shown?.details.filters && receipts.shown);
    const before = paths();
    assert(before.includes('README.md') && !before.includes('src/orders.py'), 'only documents, and what is attached');
    await vscode.commands.executeCommand('carrel.receipt.repeat');
    assert.notEqual(receipts.shown, asked);
    assert.deepEqual(paths(), before);
  });

  it('is listed in the Memory view', async () => {
    const { memory } = await carrel();
    const answers = memory.tree.getChildren().find(({ label }) => label === 'Last answers');
    assert(answers?.children?.some(({ label }) => label === QUESTION));
  });
});

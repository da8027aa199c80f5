import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { IssueReview } from '../../src/chat/issue_review';
import { carrel, fileIn, until } from './carrel';
import { recorded, recordingModel, say } from './chat';

const ISSUE = 'Logins of users with umlauts fail';

/** What a person sees of an answer, a line for each part; links are [path lines]. */
class Screen {
  readonly progress: string[] = [];
  readonly references: string[] = [];
  text = '';

  readonly stream = {
    progress: (line: string) => this.progress.push(line),
    markdown: (text: string | vscode.MarkdownString) => (this.text += typeof text === 'string' ? text : text.value),
    anchor: (place: vscode.Location) => (this.text += `[${named(place)}]`),
    reference: (place: vscode.Location) => this.references.push(named(place)),
  } as unknown as vscode.ChatResponseStream;
}

function named({ uri, range }: vscode.Location): string {
  return `${vscode.workspace.asRelativePath(uri)} ${range.start.line + 1}-${range.end.line + 1}`;
}

async function review(
  prompt: string,
  screen = new Screen(),
  token = new vscode.CancellationTokenSource().token,
): Promise<Screen> {
  const { server, memory, receipts } = await carrel();
  const model = await recordingModel();
  await new IssueReview(server, memory, receipts).answer({ prompt, model }, screen.stream, token, { asked: '', said: '' });
  return screen;
}

describe('@carrel /review', () => {
  it('gives the model what it searches for, and nothing else', async () => {
    const before = recorded().length;
    await say(`@carrel /review ${ISSUE}`);
    const [first = [], second = []] = await until(
      'both requests',
      () => recorded().length >= before + 2 && recorded().slice(before),
    );
    assert.match(first.at(-1)?.text ?? '', /^<issue_title>\nLogins of users with umlauts fail\n<\/issue_title>$/);
    assert.match(second.at(-1)?.text ?? '', /^--- src\/auth\.py \(lines 1-4, relevance: [01]\.\d\d\) ---\ndef authenticate_user/);
    assert.doesNotMatch(second.map(({ text }) => text).join(), /hunter2|wombat/);
  });

  it('shows each step, then the checked answer with its places', async () => {
    const screen = await review(`${ISSUE}\n\nSince yesterday, for all of them.`);
    assert.deepEqual(screen.progress.slice(0, 2), ['Reading the issue', 'Searching: how is a login checked']);
    assert.match(screen.progress[2] ?? '', /^[12] places?$/);
    assert.equal(screen.progress.at(-1), 'Checking the answer');
    assert.equal(screen.references[0], 'src/auth.py 1-4');
    assert.match(
      screen.text,
      /^First the login\.\n\nCompare names .*\.\n\n\*\*Difficulty:\*\* ●●○○○ 2 of 5 · \*\*Recommended level:\*\* Junior\n/,
    );
    assert.match(screen.text, /- Unicode\n[^]*Begin at \[src\/auth\.py 1-4\]\./);
    assert.match(screen.text, /\*\*Based on [12] places?\*\*, from 1 search\n\n- \[src\/auth\.py 1-4\] `authenticate_user`/);
    assert.match(recorded().at(-1)?.[1]?.text ?? '', /<issue_body>\nSince yesterday, for all of them\.\n<\/issue_body>/);
  });

  it('says how it is used when there is no issue', async () => {
    const before = recorded().length;
    assert.match((await review(' \n')).text, /^Describe the issue: its title in the first line/);
    assert.equal(recorded().length, before);
  });

  it('shows what the model said when that is no review', async () => {
    const screen = await review('babble');
    assert(screen.progress.some(line => line.startsWith("Asking again, since the answer can't be used: ")));
    assert.match(screen.text, /no review[^]*```text\nI can not say\.\n```/);
  });

  it('tells of a model that fails in its own words', async () => {
    await assert.rejects(review('quota'), /^\w*Error: The chat model failed: .*no quota left/);
  });

  it('stops at once, and the model hears of it', async () => {
    const source = new vscode.CancellationTokenSource();
    const before = recorded().length;
    const stopped = review('think for ever', new Screen(), source.token);
    await until('the model is asked', () => recorded().length > before);
    source.cancel();
    await assert.rejects(stopped, (error: { code?: number }) => error.code === -32800);
    await until('the model hears of it', () => (recorded().at(-1) as unknown[])[0] === 'cancelled');
    assert.match((await review(ISSUE)).text, /Compare names/);
  });

  it('ends with the server, for the model too, and can be asked for again', async () => {
    const { server } = await carrel();
    const before = recorded().length;
    const lost = review('think for ever');
    await until('the model is asked', () => recorded().length > before);
    assert(server.state.kind === 'running' && server.state.pid);
    process.kill(server.state.pid, 'SIGKILL');
    await assert.rejects(lost, /server stopped during the review/);
    await until('the model hears of it', () => (recorded().at(-1) as unknown[])[0] === 'cancelled');
    assert.match((await review(ISSUE)).text, /Compare names/);
  });

  it('searches the text that is not saved yet', async () => {
    const document = await vscode.workspace.openTextDocument(fileIn('src/auth.py'));
    const editor = await vscode.window.showTextDocument(document);
    await editor.edit(builder => builder.insert(new vscode.Position(1, 0), '    # unsaved check of a login\n'));
    await review(ISSUE);
    assert.match(recorded().at(-1)?.at(-1)?.text ?? '', /unsaved check of a login/);
    await vscode.commands.executeCommand('workbench.action.files.revert');
  });
});

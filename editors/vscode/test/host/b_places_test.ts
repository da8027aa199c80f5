import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as vscode from 'vscode';
import { carrel, fileIn, until } from './carrel';
import { recorded, recordingModel } from './chat';

const QUESTION = 'how is a login checked, and by which function?';

async function modelNamed(id: string): Promise<vscode.LanguageModelChat> {
  return until(`the model ${id}`, async () => (await vscode.lm.selectChatModels({ vendor: 'carrel', id }))[0]);
}

async function said(model: vscode.LanguageModelChat, ...words: string[]): Promise<string> {
  const messages = words.map(text => vscode.LanguageModelChatMessage.User(text));
  const { text } = await model.sendRequest(messages, {});
  let whole = '';
  for await (const part of text) whole += part;
  return whole;
}

/** Ask in the chat, of one of Carrel's own models. */
async function ask(query: string, id: string): Promise<void> {
  await modelNamed(id);
  await vscode.commands.executeCommand('workbench.action.chat.newChat');
  await vscode.commands.executeCommand('workbench.action.chat.open', { query, modelSelector: { vendor: 'carrel', id } });
}

describe('the model that only lists places', () => {
  it('is not in the list where another model is, whose place it would take', async () => {
    await recordingModel();
    await until('it is not listed', async () => !(await vscode.lm.selectChatModels({ vendor: 'carrel', id: 'places' })).length);
  });

  it('answers other participants with links to lines, and asks nobody', async () => {
    const { models, receipts } = await carrel();
    const before = recorded().length;
    const messages = ['Be brief.', QUESTION].map(text => vscode.LanguageModelChatMessage.User(text));
    let text = '';
    const progress = { report: (part: vscode.LanguageModelTextPart) => void (text += part.value) };
    const { token } = new vscode.CancellationTokenSource();
    await models.provideLanguageModelChatResponse({ id: 'places' }, messages, {}, progress, token);
    assert.match(text, /^These places of the project fit the question:\n\n- \[src\/auth\.py:1-4\]/);
    assert(text.includes(`(<${fileIn('src/auth.py').toString()}#L1-L4>)`), text);
    assert.doesNotMatch(text, /def /, 'places, no code');
    assert.equal(receipts.shown?.outcome, 'found');
    assert.equal(recorded().length, before);
  });
});

describe('the model that the settings name', () => {
  const asked: string[] = [];
  const service = createServer((request, response) => {
    let body = '';
    request.on('data', (data: Buffer) => (body += data.toString()));
    request.on('end', () => {
      asked.push(body);
      const event = (delta: object, finish: string | null): string =>
        `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', model: 'tiny', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const text = 'Logins are checked in `src/auth.py:1-4`.';
      response.end(event({ role: 'assistant', content: text }, null) + event({}, 'stop') + 'data: [DONE]\n\n');
    });
  });
  const set = (value?: object): Thenable<void> =>
    vscode.workspace.getConfiguration('carrel').update('models', value, vscode.ConfigurationTarget.Global);

  before(async () => {
    await new Promise<void>(listening => service.listen(0, '127.0.0.1', listening));
    const { port } = service.address() as AddressInfo;
    await set({ chat: { provider: 'openai', baseUrl: `http://127.0.0.1:${port}/v1`, model: 'tiny', key: 'none' } });
  });
  after(async () => {
    const modelSelector = { vendor: 'recording', id: 'recording-1' };
    await vscode.commands.executeCommand('workbench.action.chat.open', { query: '', isPartialQuery: true, modelSelector });
    await set(undefined);
    service.close();
    await until(
      'it is no longer listed',
      async () => !(await vscode.lm.selectChatModels({ vendor: 'carrel', id: 'configured' })).length,
    );
  });

  it('answers in the chat from this project, by the server', async () => {
    const { receipts } = await carrel();
    const before = { shown: receipts.shown, lent: recorded().length };
    assert.equal((await modelNamed('configured')).name, 'Carrel: tiny');
    await ask(`@carrel ${QUESTION}`, 'configured');
    const shown = await until('the answer', () => receipts.shown !== before.shown && receipts.shown, 40);
    assert.deepEqual([shown.question.text, shown.outcome], [QUESTION, 'sent']);
    assert.match(asked.at(-1) ?? '', /def authenticate_user/);
    assert.equal(recorded().length, before.lent, 'no model of the editor is asked');
  });

  it('answers other participants', async () => {
    assert.equal(await said(await modelNamed('configured'), QUESTION), 'Logins are checked in `src/auth.py:1-4`.');
  });
});

/** What @carrel sends of a project that it was not made with: conversations.json, in the editor, as a person types it. */

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { fileIn, until } from '../host/carrel';
import { recorded, recordingModel, say, sayNext, type Message } from '../host/chat';
import all from './conversations.json';

type Lines = readonly [path: string, first: number, last: number];
interface Turn {
  readonly ask: string;
  readonly select?: Lines;
  readonly answers: readonly Lines[];
}

const { CARREL_PROMPTS_PACKAGE = '', CARREL_PROMPTS_RESULTS = '' } = process.env;
const conversations = (all as unknown as { package: string; conversations: Turn[][] }[]).find(
  one => one.package === CARREL_PROMPTS_PACKAGE,
)?.conversations;
/** The recording model's window, and the share of it that a context may take: an eighth, at most 8,000 tokens. */
const CEILING = Math.min(100_000 / 8, 8_000);

/** Of the lines that answer, blank ones left out, how many stand in the prompt. */
async function share(prompt: string, places: readonly Lines[]): Promise<number> {
  let wanted = 0;
  let there = 0;
  const sent = new Set(prompt.split('\n').map(line => line.trim()));
  for (const [path, first, last] of places) {
    const text = (await vscode.workspace.openTextDocument(fileIn(path))).getText().split('\n');
    const lines = text.slice(first - 1, last).map(line => line.trim());
    for (const line of lines.filter(Boolean)) {
      wanted += 1;
      if (sent.has(line)) there += 1;
    }
  }
  return there / wanted;
}

async function select(place: Lines | undefined): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  if (!place) return;
  const [path, first, last] = place;
  const editor = await vscode.window.showTextDocument(fileIn(path));
  editor.selection = new vscode.Selection(first - 1, 0, last, 0);
}

/** The question is the first request to the model after it was typed; a topic's words don't stand in a later message than the last. */
async function asked(turn: Turn, first: boolean): Promise<{ readonly messages: Message[]; readonly ms: number }> {
  await select(turn.select);
  const began = Date.now();
  const messages = await (first ? say(`@carrel ${turn.ask}`) : sayNext(`@carrel ${turn.ask}`));
  return { messages, ms: Date.now() - began };
}

describe(`what @carrel sends of ${CARREL_PROMPTS_PACKAGE}`, () => {
  const shares: number[] = [];

  before(async () => {
    await recordingModel();
    await vscode.commands.executeCommand('carrel.memory.index');
  });

  for (const conversation of conversations ?? []) {
    const said: string[] = [];
    for (const [index, turn] of conversation.entries()) {
      it(`${index ? 'follow-up: ' : ''}${turn.select ? 'selection: ' : ''}${turn.ask}`, async () => {
        const { messages, ms } = await asked(turn, index === 0);
        const prompt = messages.at(-1)?.text ?? '';
        const context = prompt.slice(0, -turn.ask.length);
        const kept = messages.slice(0, -1).map(({ text }) => text);
        const result = {
          package: CARREL_PROMPTS_PACKAGE,
          ask: turn.ask,
          kind: index ? 'follow-up' : turn.select ? 'selection' : 'question',
          share: await share(context, turn.answers),
          characters: Array.from(context).length,
          history: said.every(words => kept.some(text => text.includes(words))),
          ms,
        };
        said.push(turn.ask, 'It is done by ');
        appendFileSync(CARREL_PROMPTS_RESULTS, JSON.stringify(result) + '\n');
        assert(prompt.endsWith(turn.ask), 'the words of the person end the prompt, as they are');
        assert(result.history, 'what was said before is there');
        assert(result.characters <= CEILING * 6, `${result.characters} characters`);
        if (turn.select) assert.equal(result.share, 1, 'what is selected is sent whole');
        shares.push(result.share);
      });
    }
  }

  it('most of the lines that answer stand in two prompts of three at least', () => {
    assert(shares.filter(one => one >= 0.5).length >= (shares.length * 2) / 3, shares.join());
  });

  it('a greeting sends nothing of the project', async () => {
    await select(undefined);
    const messages = await say('@carrel hello!');
    assert.equal(messages.at(-1)?.text, 'hello!');
  });

  it('a tool says so where the project has nothing', async () => {
    const input = { query: 'zxqv wombat kangaroo recipes with eucalyptus' };
    const result = await vscode.lm.invokeTool('carrel_search', { input, toolInvocationToken: undefined });
    assert.deepEqual(
      result.content.map(part => (part as vscode.LanguageModelTextPart).value),
      ['No relevant code found.'],
    );
  });

  it('lists are in the order of their scores', async () => {
    const before = recorded().length;
    const query = conversations?.[0]?.[0]?.ask ?? '';
    const result = await vscode.lm.invokeTool('carrel_search', {
      input: { query, maxResults: 10 },
      toolInvocationToken: undefined,
    });
    const text = result.content.map(part => (part as vscode.LanguageModelTextPart).value).join('');
    const scores = [...text.matchAll(/relevance: ([01]\.\d\d)/g)].map(([, score]) => Number(score));
    assert(scores.length >= 3, text.slice(0, 200));
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
    );
    assert.equal(recorded().length, before, 'a list asks no model');
  });

  it('a preview has the budget of the model that was asked last', async () => {
    const turn = conversations?.[0]?.[0];
    assert(turn);
    await say(`@carrel ${turn.ask}`);
    const preview = await vscode.commands.executeCommand<{ budgetTokens?: number }>('carrel.previewContext', turn.ask);
    assert.equal(preview.budgetTokens, CEILING);
  });

  it('a smaller window gets a smaller context', async () => {
    await until('the small model', async () => (await vscode.lm.selectChatModels({ id: 'recording-small' }))[0]);
    const turn = conversations?.[0]?.[0];
    assert(turn);
    const sizes: number[] = [];
    for (const id of ['recording-1', 'recording-small']) {
      const before = recorded().length;
      await vscode.commands.executeCommand('workbench.action.chat.newChat');
      const modelSelector = { vendor: 'recording', id };
      await vscode.commands.executeCommand('workbench.action.chat.open', { query: `@carrel ${turn.ask}`, modelSelector });
      const messages = await until('the model is asked', () => recorded()[before], 40);
      sizes.push((messages.at(-1)?.text.length ?? 0) - turn.ask.length);
    }
    const [large = 0, small = 0] = sizes;
    assert(small < large && small <= (8_000 / 8) * 6, sizes.join());
  });
});

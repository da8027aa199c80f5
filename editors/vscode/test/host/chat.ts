/** The chat as a person uses it, and what reached the model. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { until } from './carrel';

export interface Message {
  readonly role: number;
  readonly text: string;
}

export function recorded(): Message[][] {
  return readLog(log());
}

/** The questions that the model was asked to say in the words of the code. */
export function saidAgain(): Message[][] {
  const file = `${log()}.said`;
  return existsSync(file) ? readLog(file) : [];
}

function log(): string {
  const file = process.env.RECORDING_LOG;
  assert(file, 'the runner names the recording');
  return file;
}

function readLog(file: string): Message[][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Message[]);
}

/** Type a question into the chat and send it; gives the messages that the model got. */
export async function say(query: string): Promise<Message[]> {
  await recordingModel();
  const before = recorded().length;
  await vscode.commands.executeCommand('workbench.action.chat.newChat');
  await vscode.commands.executeCommand('workbench.action.chat.open', { query });
  return until(`the model is asked: ${query}`, () => recorded()[before], 40);
}

/** Ask on in the same chat; gives the messages that the model got. */
export async function sayNext(query: string): Promise<Message[]> {
  const before = recorded().length;
  await vscode.commands.executeCommand('workbench.action.chat.open', { query });
  return until(`the model is asked: ${query}`, () => recorded()[before], 40);
}

export async function recordingModel(): Promise<vscode.LanguageModelChat> {
  return until('the recording model', async () => (await vscode.lm.selectChatModels({ vendor: 'recording' }))[0]);
}

/** The user's message in full, context and all. */
export function lastOf(messages: readonly Message[]): string {
  return messages.at(-1)?.text ?? assert.fail('no message');
}

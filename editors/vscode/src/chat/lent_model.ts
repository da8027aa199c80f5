/** The chat model that the person chose, lent to the server: a conversation in the server's form, put to it in the editor's. */

import * as vscode from 'vscode';
import type { CompleteParams, CompleteResult, ModelMessage, ToolCall } from '../protocol';

export async function complete(
  model: vscode.LanguageModelChat,
  { messages, tools }: CompleteParams,
  justification: string,
  token: vscode.CancellationToken,
): Promise<CompleteResult> {
  const options: vscode.LanguageModelChatRequestOptions = {
    justification,
    ...(tools.length ? { tools: tools.map(tool => ({ ...tool })) } : {}),
  };
  const response = await model.sendRequest(inEditorsForm(messages), options, token);
  let text = '';
  const toolCalls: ToolCall[] = [];
  for await (const part of response.stream) {
    if (part instanceof vscode.LanguageModelTextPart) text += part.value;
    else if (part instanceof vscode.LanguageModelToolCallPart)
      toolCalls.push({ id: part.callId, name: part.name, arguments: part.input as Record<string, unknown> });
  }
  return { text, toolCalls };
}

function inEditorsForm(messages: readonly ModelMessage[]): vscode.LanguageModelChatMessage[] {
  const given: vscode.LanguageModelChatMessage[] = [];
  let results: vscode.LanguageModelToolResultPart[] | undefined;
  for (const { role, text, toolCalls = [], toolCallId = '' } of messages) {
    if (role === 'tool') {
      // The results of one turn's calls belong in one message: some models refuse more.
      if (!results) given.push(vscode.LanguageModelChatMessage.User((results = [])));
      results.push(new vscode.LanguageModelToolResultPart(toolCallId, [new vscode.LanguageModelTextPart(text)]));
      continue;
    }
    results = undefined;
    const calls = toolCalls.map(({ id, name, arguments: input = {} }) => new vscode.LanguageModelToolCallPart(id, name, input));
    if (role === 'assistant')
      given.push(
        vscode.LanguageModelChatMessage.Assistant([...(text ? [new vscode.LanguageModelTextPart(text)] : []), ...calls]),
      );
    else given.push(vscode.LanguageModelChatMessage.User(text)); // the editor knows no system messages
  }
  return given;
}

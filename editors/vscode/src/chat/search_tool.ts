/** `#carrel`: the tool that agents call by themselves. */

import * as vscode from 'vscode';
import type { ContextClient } from '../context_client';
import type { Memory } from '../memory/memory';

interface Input {
  readonly query: string;
  readonly maxResults?: number;
  readonly pathGlob?: string;
  readonly format?: 'text' | 'places';
}

const RESULTS = 3;
/** A place without its text is a line. */
const PLACES = 20;

export class SearchTool implements vscode.LanguageModelTool<Input> {
  constructor(
    private readonly contextClient: ContextClient,
    private readonly memory: Memory,
  ) {}

  prepareInvocation({ input }: vscode.LanguageModelToolInvocationPrepareOptions<Input>): vscode.PreparedToolInvocation {
    const invocationMessage = vscode.l10n.t('Searching the project for “{0}”', input.query);
    // Searching only reads. What is worth asking a person is the first index, which takes time and space.
    if (this.memory.hasIndex) return { invocationMessage };
    return {
      invocationMessage,
      confirmationMessages: {
        title: vscode.l10n.t('Search this project with Carrel?'),
        message: vscode.l10n.t('Carrel indexes the project on this machine first, then searches it for “{0}”.', input.query),
      },
    };
  }

  async invoke(
    options: vscode.LanguageModelToolInvocationOptions<Input>,
    token: vscode.CancellationToken,
  ): Promise<vscode.LanguageModelToolResult> {
    const { input, tokenizationOptions } = options;
    const pack = await this.contextClient.context(
      { text: input.query, from: 'agent' },
      {
        format: input.format === 'places' ? 'places' : 'tool',
        topK: input.maxResults ?? (input.format === 'places' ? PLACES : RESULTS),
        ...(tokenizationOptions ? { budget: { tokens: tokenizationOptions.tokenBudget } } : {}),
        ...(input.pathGlob ? { filters: { pathGlob: input.pathGlob } } : {}),
      },
      token,
    );
    return new vscode.LanguageModelToolResult([
      new vscode.LanguageModelTextPart(pack.error ? `${pack.text}\n(${pack.error})` : pack.text),
    ]);
  }
}

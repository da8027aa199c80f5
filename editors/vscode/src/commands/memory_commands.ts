/** Commands of the Memory view. */

import * as vscode from 'vscode';
import { localFolders, type Memory } from '../memory/memory';
import type { Node } from '../memory/nodes';
import { bytes } from '../memory/labels';
import { budget, change, configuration } from '../settings';

export function memoryCommands(memory: Memory): Record<string, (...args: never[]) => unknown> {
  return {
    'carrel.memory.index': async (node?: Node) => {
      if (!localFolders().length) throw new Error('open a folder first.');
      return memory.indexAndTell(node?.context === 'folder' ? node.id : undefined);
    },
    'carrel.memory.cancel': () => memory.cancel(),
    'carrel.memory.clear': async () => {
      const sure = await vscode.window.showWarningMessage(
        'Delete the index of this project? Your files stay as they are.',
        { modal: true },
        'Delete',
      );
      if (sure) void vscode.window.setStatusBarMessage(`Carrel: ${bytes(await memory.clear())} freed`, 5_000);
    },
    'carrel.memory.setTopK': async () => {
      const answer = await ask(
        'How many places of the project may an answer use?',
        String(configuration().get('ragTopK', 5)),
        1,
        20,
      );
      if (answer) await change('ragTopK', answer);
    },
    'carrel.memory.setBudget': async () => {
      const unit = await vscode.window.showQuickPick(['tokens', 'characters'], {
        title: 'Carrel: Count the Budget in',
      });
      if (!unit) return;
      const { tokens = 1_000, chars = 4_000 } = budget();
      const now = unit === 'tokens' ? tokens : chars;
      const answer = await ask(`How many ${unit} of your project may go with a question?`, String(now), 100, 1_000_000);
      if (answer) await change('budget', unit === 'tokens' ? { tokens: answer } : { chars: answer });
    },
  };
}

async function ask(prompt: string, value: string, from: number, to: number): Promise<number | undefined> {
  const validateInput = (text: string): string | undefined =>
    /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to ? undefined : `A whole number from ${from} to ${to}`;
  const answer = await vscode.window.showInputBox({ title: 'Carrel', prompt, value, validateInput });
  return answer === undefined ? undefined : Number(answer);
}

/** The person in front of this window. */

import * as vscode from 'vscode';
import type { Person } from './permission';

export const PERSON: Person = {
  trusts: () => vscode.workspace.isTrusted,
  choose: (question, detail, ...buttons) => vscode.window.showWarningMessage(question, { modal: true, detail }, ...buttons),
  tell: text => void vscode.window.showWarningMessage(text),
};

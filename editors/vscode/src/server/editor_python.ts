/** The interpreter that the Python extension has chosen, where there is one. Carrel doesn't depend on that extension. */

import * as vscode from 'vscode';

interface PythonApi {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  };
}

/** An interpreter may come from the workspace itself, so an untrusted workspace has none. */
export async function editorPython(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (!extension || !vscode.workspace.isTrusted) return undefined;
  try {
    const api = extension.isActive ? extension.exports : await extension.activate();
    const chosen = api.environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri).path;
    return chosen && /python[^/\\]*$/i.test(chosen) ? chosen : undefined;
  } catch {
    return undefined; // theirs to report
  }
}

/** A setting that its user alone makes: what a folder or a workspace says is left out, whatever the setting's scope. */
import * as vscode from 'vscode';

export function ownSetting(key: string): string {
  const { globalValue } = vscode.workspace.getConfiguration('loopline').inspect<string>(key) ?? {};
  return typeof globalValue === 'string' ? globalValue.trim() : '';
}

/** Choosing a model or a session, and keeping a key, by VS Code's own quick pick and input box. */
import * as vscode from 'vscode';
import type { Models } from '../protocol';
import type { Client } from '../server/client';
import type { Actions } from './actions';
import type { Store } from './store';

const PROVIDER = 'openai';

interface ModelItem extends vscode.QuickPickItem {
  /** undefined: to be named by hand. */
  readonly model?: string;
}

export async function chooseModel(actions: Actions, store: Store): Promise<void> {
  const asking = actions.ask('loopline.model.select', {});
  const items: Promise<ModelItem[]> = asking.then(modelItems);
  const chosen = await vscode.window.showQuickPick(items, { title: 'Choose a model', placeHolder: 'Models of the service' });
  const told = await asking;
  if (chosen === undefined || told === undefined) return;
  const model = chosen.model ?? (await vscode.window.showInputBox({ title: 'Choose a model', prompt: 'Name of the model', value: told.model }));
  if (model === undefined || model.trim() === '') return;
  const shown = (await actions.list()).find((one) => one.sessionId === store.app.current);
  const live = shown?.state === 'live' ? { sessionId: shown.sessionId } : {};
  const set = await actions.ask('loopline.model.select', { model: model.trim(), ...live });
  if (set !== undefined) await vscode.workspace.getConfiguration('loopline').update('model', model.trim(), vscode.ConfigurationTarget.Global);
}

function modelItems(told: Models | undefined): ModelItem[] {
  if (told === undefined) return [];
  const items: ModelItem[] = (told.models ?? []).map((one) => ({
    label: one.id,
    model: one.id,
    description: Object.entries(one.capabilities ?? {}).filter(([, can]) => can).map(([name]) => name).join(', '),
    detail: one.id === told.model ? 'in use' : '',
  }));
  const silent = { label: 'The service did not say which models it has', kind: vscode.QuickPickItemKind.Separator };
  return [...(told.models === undefined ? [silent] : items), { label: 'Another model…', alwaysShow: true }];
}

export async function chooseSession(actions: Actions): Promise<void> {
  const sessions = await actions.list();
  const items = sessions.map((one) => ({
    label: one.title || 'untitled', description: one.state === 'stored' ? '' : one.state,
    detail: `${(one.created ?? '').slice(0, 16).replace('T', ' ')} ${one.model ?? ''}`, sessionId: one.sessionId,
  }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Sessions', placeHolder: 'Resume a session', matchOnDetail: true });
  if (chosen !== undefined) await actions.resume(chosen.sessionId);
}

/** Hands a key to the server, which keeps it in the keyring or in a private file. It is never a setting. */
export async function setKey(client: Client | undefined): Promise<void> {
  if (client === undefined) {
    void vscode.window.showWarningMessage('Loopline: the server does not run, and it keeps the keys.');
    return;
  }
  const provider = await vscode.window.showInputBox({ title: 'Set key', prompt: 'Provider', value: PROVIDER, ignoreFocusOut: true });
  if (provider === undefined || provider.trim() === '') return;
  const key = await vscode.window.showInputBox({
    title: 'Set key', prompt: `Key for ${provider.trim()}; empty removes it`, password: true, ignoreFocusOut: true,
  });
  if (key === undefined) return;
  try {
    const { providers } = await client.request('loopline/auth.set', { provider: provider.trim(), key: key.trim() });
    const kept = providers.find((one) => one.provider === provider.trim());
    const where = { environment: 'the environment', keyring: 'the keyring', file: 'a private file', none: 'nowhere' };
    void vscode.window.showInformationMessage(
      kept?.present === true ? `Loopline: the key for ${kept.provider} is in ${where[kept.where]}.` : 'Loopline: the key was removed.');
  } catch (error) {
    void vscode.window.showErrorMessage(`Loopline: the key was not kept: ${error instanceof Error ? error.message : String(error)}`);
  }
}

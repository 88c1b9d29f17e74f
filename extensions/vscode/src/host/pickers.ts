/** Choosing a model or a session, and keeping a key, by VS Code's own quick pick and input box. */
import * as vscode from 'vscode';
import type { Client } from '../server/client';
import type { Actions } from './actions';
import type { Store } from './store';

const PROVIDER = 'openai';

export async function chooseModel(actions: Actions, store: Store): Promise<void> {
  const told = await actions.ask('loopline.model.select', {});
  if (told === undefined) return;
  const items: (vscode.QuickPickItem & { model?: string })[] = (told.models ?? []).map((one) => ({
    label: one.id,
    model: one.id,
    description: Object.entries(one.capabilities ?? {}).filter(([, can]) => can).map(([name]) => name).join(', '),
    detail: one.id === told.model ? 'in use' : '',
  }));
  items.push({ label: 'Another model…', alwaysShow: true });
  if (told.models === undefined) items.unshift({ label: 'The service did not say which models it has', kind: vscode.QuickPickItemKind.Separator });
  const chosen = await vscode.window.showQuickPick(items, { title: 'Choose a model', placeHolder: `now: ${told.model}` });
  if (chosen === undefined) return;
  const model = chosen.model ?? (await vscode.window.showInputBox({ title: 'Choose a model', prompt: 'Name of the model', value: told.model }));
  if (model === undefined || model.trim() === '') return;
  const sessionId = store.app.current;
  const live = store.session?.hosting === 'live' && sessionId !== null ? { sessionId } : {};
  const set = await actions.ask('loopline.model.select', { model: model.trim(), ...live });
  if (set !== undefined) await vscode.workspace.getConfiguration('loopline').update('model', model.trim(), vscode.ConfigurationTarget.Global);
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

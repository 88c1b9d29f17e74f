/** Wiring: what the extension is made of, and how its life begins and ends. */
import * as vscode from 'vscode';
import { Actions } from './host/actions';
import { registerCommands } from './host/commands';
import { SelectionContext } from './host/context';
import { contextKeys } from './host/contexts';
import { forwardDiagnostics } from './host/diagnostics';
import { Installer } from './host/install';
import { recall } from './host/recall';
import { serve } from './host/requests';
import { Reviewer } from './host/review';
import { statusBar } from './host/status_bar';
import { Store } from './host/store';
import { notifyWaiting } from './host/waiting';
import type { TurnChanges } from './protocol';
import type { Client } from './server/client';
import { OwnServer } from './server/install';
import { ServerManager } from './server/manager';
import { readVersion } from './server/version';
import { SessionView, VIEW } from './view/provider';

const LAST = 'session';
const LOST: readonly string[] = ['restarting', 'failed', 'stopped'];

let manager: ServerManager | undefined;
let store: Store | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel('Loopline', { log: true });
  const state = (store = new Store());
  const version = readVersion(String((context.extension.packageJSON as { version?: unknown }).version)) ?? { major: 0, minor: 1, patch: 0 };
  const own = new OwnServer(context.globalStorageUri.fsPath, vscode.Uri.joinPath(context.extensionUri, 'server').fsPath, version);
  const actions = new Actions(state, () => manager?.client);
  const selection = new SelectionContext((shown) => view.post({ type: 'selection', selection: shown }));
  const changesOf = async (sessionId: string, turnId: string): Promise<TurnChanges | undefined> =>
    await manager?.client?.request('loopline/turn.changes', { sessionId, turnId }).catch(() => undefined);
  const reviewer = new Reviewer(state, changesOf, (files) => view.post({ type: 'review', files }));
  const around = { store: state, actions, selection, review: reviewer, view: () => view };
  const beside = { review: () => reviewer.files, selection: () => selection.current };
  const view: SessionView = new SessionView(context.extensionUri, state, beside, (message) => void serve(message, around));
  const servers = (manager = new ServerManager(output, { own: () => own.path, wanted: version }, {
    events: (events, lost) => {
      state.put(...events);
      if (lost) void actions.reload();
    },
    started: (turn, task) => {
      actions.began(turn, task);
      void view.show('focus');
    },
    ask: () => vscode.window.showInputBox({ title: 'Loopline', prompt: 'What should be changed here?', ignoreFocusOut: true }),
  }, (host) => {
    if (LOST.includes(host.phase)) state.put({ type: 'local.lost' });
    state.put({ type: 'local.host', host });
    if (host.phase === 'missing') void installer.offer(host.text);
  }, (client) => void up(client)));
  const installer: Installer = new Installer(own, state, output, () => servers.restart());

  let forwarding: vscode.Disposable | undefined;
  async function up(client: Client): Promise<void> {
    forwarding?.dispose();
    forwarding = forwardDiagnostics(client);
    await actions.refreshStatus();
    const last = state.app.current ?? context.workspaceState.get<string | null>(LAST, null);
    const found = recall(await actions.list(), last);
    if (found?.resume === true) await actions.resume(found.sessionId);
    else if (found !== null) await actions.look(found.sessionId);
  }

  context.subscriptions.push(
    output, servers, selection, reviewer, statusBar(state), contextKeys(state, view), notifyWaiting(state, view, actions),
    { dispose: () => void forwarding?.dispose() },
    vscode.window.registerWebviewViewProvider(VIEW, view),
    ...registerCommands({
      store: state, actions, view, output, reviewer, client: () => servers.client, restart: () => servers.restart(),
      install: () => installer.install(),
    }),
    state.listen((events) => {
      if (events.some((event) => event.type === 'local.show')) void context.workspaceState.update(LAST, state.app.current);
    }),
    vscode.workspace.onDidChangeWorkspaceFolders(() => servers.start()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => trusted(servers, state.busy)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('loopline.server')) servers.restart();
      else if (event.affectsConfiguration('loopline')) servers.client?.settingsChanged();
    }),
  );
  if (process.platform === 'win32') {
    const text = 'Loopline does not run on Windows itself. Open the folder in WSL, in a container or over SSH.';
    state.put({ type: 'local.host', host: { phase: 'unsupported', text } });
    void vscode.window.showWarningMessage(text);
    return;
  }
  servers.start();
}

/**
 * The server is started anew, as the folder may hold one now, and as what it is first told counts as the user's word. One
 * that works is only told.
 */
function trusted(servers: ServerManager, busy: boolean): void {
  if (busy) servers.client?.settingsChanged();
  else servers.restart();
}

export async function deactivate(): Promise<void> {
  await manager?.stop(store?.busy === true);
}

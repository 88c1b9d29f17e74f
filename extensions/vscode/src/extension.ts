/** Wiring: what the extension is made of, and how its life begins and ends. */
import * as vscode from 'vscode';
import { Actions } from './host/actions';
import { registerCommands } from './host/commands';
import { SelectionContext } from './host/context';
import { forwardDiagnostics } from './host/diagnostics';
import { serve } from './host/requests';
import type { Review } from './host/requests';
import { statusBar } from './host/status_bar';
import { Store } from './host/store';
import { notifyWaiting } from './host/waiting';
import { ServerManager } from './server/manager';
import type { Client } from './server/client';
import { readVersion } from './server/version';
import { SessionView, VIEW } from './view/provider';

let manager: ServerManager | undefined;
let store: Store | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel('Loopline', { log: true });
  const kept = (store = new Store());
  const version = readVersion(String((context.extension.packageJSON as { version?: unknown }).version)) ?? { major: 0, minor: 1, patch: 0 };
  const client = (): Client | undefined => manager?.client;
  const actions = new Actions(kept, client);
  const review: Review = { open: () => Promise.resolve(), decide: () => Promise.resolve() };
  const selection = new SelectionContext((shown) => view.post({ type: 'selection', selection: shown }));
  const around = { store: kept, actions, selection, review, view: () => view };
  const view: SessionView = new SessionView(
    context.extensionUri, kept, { review: () => [], selection: () => selection.current }, (message) => void serve(message, around));
  let forwarding: vscode.Disposable | undefined;

  const made = (manager = new ServerManager(output, { own: () => undefined, wanted: version }, {
    events: (events) => kept.put(...events),
    started: (turn, task) => {
      actions.began(turn, task);
      void view.show('focus');
    },
    ask: () => vscode.window.showInputBox({ title: 'Loopline', prompt: 'What should be changed here?', ignoreFocusOut: true }),
  }, (host) => {
    if (host.phase === 'restarting' || host.phase === 'failed' || host.phase === 'stopped') kept.put({ type: 'local.lost' });
    kept.put({ type: 'local.host', host });
  }, (running) => {
    forwarding?.dispose();
    forwarding = forwardDiagnostics(running);
    void running.request('loopline/status', {}).then((status) => kept.put(status)).catch(() => undefined);
    void actions.list();
  }));

  context.subscriptions.push(
    output, made, selection, statusBar(kept), notifyWaiting(kept, view, actions), { dispose: () => forwarding?.dispose() },
    vscode.window.registerWebviewViewProvider(VIEW, view),
    ...registerCommands({
      store: kept, actions, view, output, client, restart: () => made.restart(), install: () => Promise.resolve(),
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => made.restart()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('loopline.server')) made.restart();
    }),
  );
  if (process.platform === 'win32') {
    kept.put({ type: 'local.host', host: {
      phase: 'unsupported', text: 'Loopline does not run on Windows itself. Open the folder in WSL, in a container or over SSH.',
    } });
    return;
  }
  made.start();
}

export async function deactivate(): Promise<void> {
  await manager?.stop(store?.busy === true);
}

/** Offers to install the server, and shows how that goes. */
import * as vscode from 'vscode';
import type { OwnServer } from '../server/install';
import { ownSetting } from '../server/ownSetting';
import type { Store } from './store';

export class Installer {
  private running: Promise<void> | undefined;
  private offered = false;

  constructor(
    private readonly own: OwnServer, private readonly store: Store, private readonly output: vscode.LogOutputChannel,
    private readonly installed: () => void,
  ) {}

  /** Once a window. */
  async offer(text: string): Promise<void> {
    if (this.offered) return;
    this.offered = true;
    const chosen = await vscode.window.showInformationMessage(
      `Loopline needs its server: ${text}.`, 'Install', 'Open Settings');
    if (chosen === 'Install') await this.install();
    else if (chosen === 'Open Settings') await vscode.commands.executeCommand('loopline.openSettings');
  }

  install(): Promise<void> {
    this.running ??= this.work().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async work(): Promise<void> {
    const python = ownSetting('server.python');
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const options = { location: vscode.ProgressLocation.Notification, title: 'Loopline', cancellable: true };
    try {
      await vscode.window.withProgress(options, async (progress, token) => {
        const stopping = new AbortController();
        token.onCancellationRequested(() => stopping.abort());
        const tell = (text: string): void => {
          this.output.info(text);
          progress.report({ message: text });
          this.store.put({ type: 'local.host', host: { phase: 'installing', text: `Installing the server: ${text}` } });
        };
        this.output.info(`installed in ${await this.own.install(python, folders, tell, stopping.signal)}`);
      });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.output.error(text);
      this.store.put({ type: 'local.host', host: { phase: 'missing', text: `The server was not installed: ${text}` } });
      void vscode.window.showErrorMessage(`Loopline: ${text}`);
      return;
    }
    this.installed();
  }
}

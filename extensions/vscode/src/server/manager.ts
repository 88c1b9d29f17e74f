/** Brings the server up and keeps it up, as `lifecycle` says. */
import * as vscode from 'vscode';
import type { HostState } from '../state/model';
import { Client } from './client';
import type { Hooks } from './client';
import { findServer } from './find';
import { asleep, live } from './lifecycle';
import type { Deed, Happening, Life } from './lifecycle';
import { ownSetting } from './ownSetting';
import { startServer } from './process';
import type { ServerProcess } from './process';
import { showVersion } from './version';
import type { Version } from './version';

export interface Place {
  /** The environment made from the shipped wheel, if there is one. */
  own(): string | undefined;
  readonly wanted: Version;
}

export class ServerManager implements vscode.Disposable {
  private life: Life = asleep;
  private process: ServerProcess | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastEnd = '';
  private starting: Client | undefined;
  /** The client of the running server. */
  client: Client | undefined;

  constructor(
    private readonly output: vscode.LogOutputChannel, private readonly place: Place, private readonly hooks: Hooks,
    private readonly tell: (host: HostState) => void, private readonly up: (client: Client) => void,
  ) {}

  start(): void {
    this.happen({ type: 'wanted' });
  }

  restart(): void {
    this.happen({ type: 'restart wanted' });
  }

  /** Resolves once the server is gone. `leave`: let it go on with its turn, without us. */
  async stop(leave: boolean): Promise<void> {
    if (this.timer !== undefined) clearTimeout(this.timer);
    const { process, client } = this;
    if (leave && process !== undefined) {
      this.life = asleep;
      process.child.stdin.end();
      process.child.unref();
      return;
    }
    this.life = live(this.life, { type: 'stop wanted' }).life;
    if (client !== undefined) await client.stop();
    else await process?.kill();
  }

  dispose(): void {
    if (this.timer !== undefined) clearTimeout(this.timer);
  }

  private happen(what: Happening): void {
    const { life, deed } = live(this.life, what);
    this.life = life;
    this.perform(deed);
  }

  private perform(deed: Deed): void {
    switch (deed.do) {
      case 'start':
        void this.bringUp();
        return;
      case 'stop':
        void this.bringDown();
        return;
      case 'wait':
        this.tell({ phase: 'restarting', text: `The server ended (${this.lastEnd}). It is started again in ${(deed.ms / 1000).toFixed(1)} s.` });
        this.timer = setTimeout(() => this.happen({ type: 'waited' }), deed.ms);
        return;
      case 'give up':
        this.tell({ phase: 'failed', text: `The server keeps ending: ${this.lastEnd}` });
        return;
      case 'nothing':
        return;
    }
  }

  private async bringUp(): Promise<void> {
    if ((vscode.workspace.workspaceFolders ?? []).length === 0) {
      this.tell({ phase: 'no folder', text: 'No folder is open. Loopline works in one.' });
      this.happen({ type: 'not found' });
      return;
    }
    this.tell({ phase: 'looking', text: 'Looking for the Loopline server' });
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const setting = ownSetting('server.path');
    const around = { setting, own: this.place.own(), folders, trusted: vscode.workspace.isTrusted };
    const choice = await findServer(around, this.place.wanted);
    if (choice.kind === 'none') {
      this.output.warn(choice.text);
      this.tell({ phase: 'missing', text: choice.text });
      this.happen({ type: 'not found' });
      return;
    }
    const { command } = choice.candidate;
    if (choice.warning !== '') void vscode.window.showWarningMessage(`Loopline: ${choice.warning}`);
    this.output.info(`starting ${command} (${showVersion(choice.version)}, found by ${choice.candidate.origin})`);
    this.tell({ phase: 'starting', text: `Starting ${command}` });
    const process = startServer(command, (line) => this.output.warn(line));
    const client = new Client(process, this.output, this.hooks);
    this.process = process;
    this.starting = client;
    void process.ended.then((how) => this.ended(process, how));
    try {
      await client.start();
    } catch (error) {
      this.output.error(String(error));
      void process.kill();
      return;
    }
    if (this.process !== process) return;
    this.client = client;
    this.happen({ type: 'started' });
    if (this.life.stage !== 'running') return;
    this.tell({ phase: 'running', text: `${command} ${showVersion(choice.version)}` });
    this.up(client);
  }

  private async bringDown(): Promise<void> {
    const client = this.client ?? this.starting;
    this.client = undefined;
    await client?.stop();
    this.tell({ phase: 'stopped', text: 'The server was stopped' });
    this.happen({ type: 'stopped' });
  }

  private ended(process: ServerProcess, how: string): void {
    if (this.process !== process) return;
    this.process = undefined;
    this.client = undefined;
    this.lastEnd = how;
    if (this.life.stage === 'stopping') return;
    this.output.warn(`the server ended: ${how}`);
    this.happen({ type: 'ended', nowMs: Date.now() });
  }
}

/** The language client of one server process: what we announce, and where we step in between. */
import { CloseAction, ErrorAction, LanguageClient, RevealOutputChannelOn } from 'vscode-languageclient/node';
import type { LanguageClientOptions, Middleware, StaticFeature } from 'vscode-languageclient/node';
import * as vscode from 'vscode';
import { EVENT } from '../protocol';
import type { AnyEvent, ClientFeatures, Commands, Events, Requests, SaveDocuments, Saved, TurnStarted } from '../protocol';
import { serverSettings } from '../settings';
import type { ServerSettings } from '../settings';
import type { ServerProcess } from './process';

export interface Hooks {
  events(events: readonly AnyEvent[], lost: boolean): void;
  /** A turn was started by a menu entry or a lens of the server. */
  started(turn: TurnStarted, task: string): void;
  /** Asks the user what to change; undefined: nothing. */
  ask(): Thenable<string | undefined>;
}

/** What goes wrong is said in the view and in the status bar, so the library only logs it. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override warn(message: string, data?: unknown): void {
    super.warn(message, data, false);
  }

  override info(message: string, data?: unknown): void {
    super.info(message, data, false);
  }
}

const FEATURES: ClientFeatures = {
  saveDocuments: true, approvals: true, questions: true, answers: true, userSettings: true,
};

export class Client {
  private readonly client: LanguageClient;
  private seq = 0;

  constructor(
    private readonly process: ServerProcess, output: vscode.LogOutputChannel, private readonly hooks: Hooks,
  ) {
    const options: LanguageClientOptions = {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      outputChannel: output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: () => currentSettings().user,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
      },
      middleware: this.middleware(),
      markdown: { isTrusted: false, supportHtml: false },
    };
    const transport = { reader: process.child.stdout, writer: process.child.stdin, detached: true };
    this.client = new QuietClient('loopline', 'Loopline', () => Promise.resolve(transport), options);
    this.client.registerFeature(announced);
    this.client.onNotification(EVENT, (params: Events) => this.take(params));
    this.client.onRequest('loopline/saveDocuments', (params: SaveDocuments) => save(params));
  }

  get converter(): LanguageClient['code2ProtocolConverter'] {
    return this.client.code2ProtocolConverter;
  }

  /** Rejects if the server does not come up. */
  async start(): Promise<void> {
    await this.client.start();
  }

  async stop(): Promise<void> {
    await this.client.stop().catch(() => undefined);
    await this.process.kill();
  }

  async command<N extends keyof Commands>(name: N, params: Commands[N]['params']): Promise<Commands[N]['result']> {
    return await this.client.sendRequest<Commands[N]['result']>('workspace/executeCommand', { command: name, arguments: [params] });
  }

  async request<N extends keyof Requests>(name: N, params: Requests[N]['params']): Promise<Requests[N]['result']> {
    return await this.client.sendRequest<Requests[N]['result']>(name, params);
  }

  /** The server then asks for what holds now. */
  settingsChanged(): void {
    this.notify('workspace/didChangeConfiguration', { settings: null });
  }

  notify(method: string, params: object): void {
    void this.client.sendNotification(method, params).catch(() => undefined);
  }

  private take(params: Events): void {
    const lost = this.seq !== 0 && params.seq !== this.seq + 1;
    this.seq = params.seq;
    this.hooks.events(params.events, lost);
  }

  private middleware(): Middleware {
    return {
      workspace: {
        configuration: (params) => params.items.map((item) => (item.section === 'loopline' ? currentSettings().all : null)),
      },
      executeCommand: async (command, args, next) => {
        const [asked] = args as unknown[];
        if (command === 'loopline.ask') {
          const task = await this.hooks.ask();
          if (task === undefined) return undefined;
          this.hooks.started(await this.command('loopline.turn.start', { ...(asked as object), task }), task);
          return undefined;
        }
        const result: unknown = await next(command, args as unknown[]);
        if (command === 'loopline.turn.start') {
          this.hooks.started(result as TurnStarted, (asked as { task: string }).task);
        }
        return result;
      },
    };
  }
}

/** What is set now, as far as it counts. */
function currentSettings(): ServerSettings {
  const section = vscode.workspace.getConfiguration('loopline');
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return serverSettings((key) => section.inspect(key) ?? {}, vscode.workspace.isTrusted, folders);
}

const announced: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), loopline: FEATURES };
  },
  initialize() {},
  getState: () => ({ kind: 'static' }),
  clear() {},
};

/** Saves what is open; true if all of it is on disk now. */
async function save(params: SaveDocuments): Promise<Saved> {
  const saved = await Promise.all(params.uris.map(async (uri) => {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === wanted);
    return document !== undefined && (!document.isDirty || (await document.save()));
  }));
  return { saved: saved.every(Boolean) };
}

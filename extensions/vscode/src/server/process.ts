/**
 * The server's process. It is started here and not by the client library, so that a turn may outlive a reload of the
 * window: the process then notices that its input ended, and goes on for a while.
 */
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/** How long a turn goes on with nobody there, in seconds. */
const LINGER_S = 60;
const KILL_MS = 3_000;

export interface ServerProcess {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves with words on how it ended; never rejects. */
  readonly ended: Promise<string>;
  /** Asks it to end, and makes it. Resolves once it has. */
  kill(): Promise<void>;
}

/** Without what the editor set for its own processes, which commands of the agent would inherit. Pure. */
export function serverEnvironment(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !/^(VSCODE|ELECTRON)_/.test(name)));
}

export function startServer(command: string, log: (line: string) => void): ServerProcess {
  const args = ['lsp', '--stdio', '--linger-s', String(LINGER_S)];
  const child = spawn(command, args, { cwd: '/', detached: true, stdio: 'pipe', env: serverEnvironment(process.env) });
  let last = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
      last = line;
      log(line);
    }
  });
  for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      const how = signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
      resolve(last === '' ? how : `${how}: ${last.slice(0, 300)}`);
    });
  });
  async function kill(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
    await ended;
    clearTimeout(timer);
  }
  return { child, ended, kill };
}

/** Looks for servers on this machine and asks each for its version. */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter } from 'node:path';
import { candidates, choose } from './discovery';
import type { Answer, Candidate, Choice, Surroundings } from './discovery';
import type { Version } from './version';

const ASK_MS = 20_000;

export async function findServer(around: Omit<Surroundings, 'path' | 'home'>, wanted: Version): Promise<Choice> {
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => entry !== '');
  const answers: Answer[] = [];
  for (const candidate of candidates({ ...around, path, home: homedir() })) {
    const answer = await ask(candidate);
    answers.push(answer);
    const chosen = choose([answer], wanted);
    if (chosen.kind === 'start') return chosen;
  }
  return choose(answers, wanted);
}

async function ask(candidate: Candidate): Promise<Answer> {
  try {
    await access(candidate.command, constants.X_OK);
  } catch {
    return { candidate, absent: true };
  }
  return { candidate, ...(await run(candidate.command, ['--version'])) };
}

/** What a program prints; or why it did not. Never throws. */
export function run(
  command: string, args: readonly string[], options: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<{ printed?: string; failure?: string }> {
  return new Promise((resolve) => {
    const settings = {
      timeout: options.timeoutMs ?? ASK_MS, maxBuffer: 4 << 20, cwd: '/', encoding: 'utf8' as const,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    };
    execFile(command, [...args], settings, (error, stdout, stderr) => {
      if (error === null) resolve({ printed: stdout });
      else resolve({ failure: stderr.trim().split('\n').slice(-6).join('\n') || error.message });
    });
  });
}

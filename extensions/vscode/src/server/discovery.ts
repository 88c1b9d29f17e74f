/**
 * Which server to start: candidates in order, and what was wrong with those that do not do. Pure.
 *
 * Nothing inside a workspace is started before the workspace is trusted, wherever its path comes from.
 */
import { isAbsolute, join, normalize, sep } from 'node:path';
import { fit, readVersion, showVersion } from './version';
import type { Version } from './version';

export type Origin = 'setting' | 'path' | 'own' | 'workspace';

export interface Candidate {
  readonly origin: Origin;
  readonly command: string;
}

export interface Surroundings {
  /** The setting `loopline.server.path`; "" if there is none. */
  readonly setting: string;
  /** `PATH`, entry by entry. */
  readonly path: readonly string[];
  /** The environment that was made from the shipped wheel; undefined if there is none. */
  readonly own: string | undefined;
  readonly folders: readonly string[];
  readonly trusted: boolean;
  readonly home: string;
}

/** What may be started, best first. With a setting, that and nothing else. */
export function candidates(around: Surroundings): Candidate[] {
  const inside = (path: string): boolean =>
    around.folders.some((folder) => normalize(path) === normalize(folder) || normalize(path).startsWith(normalize(folder) + sep));
  if (around.setting !== '') {
    const command = expand(around.setting, around.home);
    return [{ origin: 'setting', command }].filter((one) => around.trusted || !inside(one.command)) as Candidate[];
  }
  const found: Candidate[] = around.path
    .filter((entry) => isAbsolute(entry) && !inside(entry))
    .map((entry) => ({ origin: 'path', command: join(entry, 'loopline') }));
  if (around.own !== undefined) found.push({ origin: 'own', command: join(around.own, 'bin', 'loopline') });
  if (around.trusted) {
    for (const folder of around.folders) {
      for (const name of ['.venv', 'venv']) {
        found.push({ origin: 'workspace', command: join(folder, name, 'bin', 'loopline') });
      }
    }
  }
  return found;
}

/** What came of asking a candidate: what it printed, or why it could not be asked. `absent`: there is no such file. */
export interface Answer {
  readonly candidate: Candidate;
  readonly printed?: string;
  readonly failure?: string;
  readonly absent?: boolean;
}

export type Choice =
  | { readonly kind: 'start'; readonly candidate: Candidate; readonly version: Version; readonly warning: string }
  | { readonly kind: 'none'; readonly reason: 'missing' | 'unfit'; readonly text: string };

/**
 * The first candidate that fits. A setting is the user's word: with it a server that is too new is started with a
 * warning, and one that is too old is not.
 */
export function choose(answers: readonly Answer[], wanted: Version): Choice {
  const problems: string[] = [];
  for (const { candidate, printed, failure, absent } of answers) {
    if (absent === true && candidate.origin !== 'setting') continue;
    const version = printed === undefined ? undefined : readVersion(printed);
    if (version === undefined) {
      problems.push(`${candidate.command}: ${absent === true ? 'there is no such file' : (failure ?? 'is no Loopline')}`);
      continue;
    }
    const judged = fit(version, wanted);
    if (judged === 'fits') return { kind: 'start', candidate, version, warning: '' };
    const text = `${candidate.command} is ${showVersion(version)}, ${judged} for this extension (${showVersion(wanted)})`;
    if (judged === 'too new' && candidate.origin === 'setting') return { kind: 'start', candidate, version, warning: text };
    problems.push(text);
  }
  if (problems.length > 0) return { kind: 'none', reason: 'unfit', text: problems.join('; ') };
  return { kind: 'none', reason: 'missing', text: 'no Loopline server was found on this machine' };
}

function expand(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path;
}

/** Versions of the server, and which of them go with this extension. Pure. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** The first version in what `loopline --version` prints; undefined if there is none. */
export function readVersion(printed: string): Version | undefined {
  const found = /\b(\d+)\.(\d+)\.(\d+)/.exec(printed);
  if (found === null) return undefined;
  const [major, minor, patch] = found.slice(1).map(Number);
  return { major: major ?? 0, minor: minor ?? 0, patch: patch ?? 0 };
}

export function showVersion(version: Version): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}

export type Fit = 'fits' | 'too old' | 'too new';

/** A server goes with this extension from `wanted` on, up to the next version that may break: minor ones before 1.0. */
export function fit(found: Version, wanted: Version): Fit {
  if (order(found, wanted) < 0) return 'too old';
  const breaks = found.major !== wanted.major || (wanted.major === 0 && found.minor !== wanted.minor);
  return breaks ? 'too new' : 'fits';
}

function order(one: Version, other: Version): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}

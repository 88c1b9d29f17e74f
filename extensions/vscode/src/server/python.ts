/** Which Python the server's environment is made with. Pure. */
import { readVersion } from './version';
import type { Version } from './version';

export const OLDEST: Version = { major: 3, minor: 11, patch: 0 };

/** Names to look for on `PATH`, best first; with a setting, that alone. */
export function pythonNames(setting: string): string[] {
  return setting === '' ? ['python3', 'python3.13', 'python3.12', 'python3.11', 'python'] : [setting];
}

export function pythonFits(printed: string): boolean {
  const version = readVersion(printed);
  if (version === undefined || version.major !== OLDEST.major) return false;
  return version.minor >= OLDEST.minor;
}

/** The wheel among the names of the shipped files; undefined if there is not exactly one. */
export function wheelAmong(names: readonly string[]): string | undefined {
  const wheels = names.filter((name) => /^loopline-[\w.+]+-[\w.]+-[\w.]+-[\w.]+\.whl$/.test(name));
  return wheels.length === 1 ? wheels[0] : undefined;
}

/** Arguments that install the shipped wheel: by its path, so that no index is ever asked for our name. */
export function installArguments(wheel: string): string[] {
  return ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--no-warn-script-location', wheel];
}

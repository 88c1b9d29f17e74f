/**
 * The environment of our own: made from the wheel that came with the extension, in the extension's storage. What the
 * server depends on comes from the index that pip is set up for; the server itself never does.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import { run } from './find';
import { installArguments, OLDEST, pythonFits, pythonNames, wheelAmong } from './python';
import { showVersion } from './version';
import type { Version } from './version';

const MAKE_MS = 120_000;
const INSTALL_MS = 600_000;
const DONE = '.complete';

export class OwnServer {
  private readonly folder: string;

  /** `storage`: where to make it; `shipped`: where the wheel is. */
  constructor(private readonly storage: string, private readonly shipped: string, version: Version) {
    this.folder = join(storage, `server-${showVersion(version)}`);
  }

  /** The environment's folder; undefined while there is none, or only half of one. */
  get path(): string | undefined {
    return existsSync(join(this.folder, DONE)) ? this.folder : undefined;
  }

  /** Makes it anew. Throws an Error with words for the user. */
  async install(python: string, folders: readonly string[], tell: (text: string) => void, signal: AbortSignal): Promise<string> {
    const wheel = wheelAmong(await readdir(this.shipped).catch(() => []));
    if (wheel === undefined) throw new Error('this build of the extension holds no server; set "loopline.server.path" instead');
    tell('looking for Python');
    const chosen = await findPython(python, folders);
    tell(`making an environment with ${chosen}`);
    await mkdir(this.storage, { recursive: true });
    await rm(this.folder, { recursive: true, force: true });
    await must(chosen, ['-m', 'venv', this.folder], MAKE_MS, signal);
    tell('installing the server and what it needs');
    await must(join(this.folder, 'bin', 'python'), installArguments(join(this.shipped, wheel)), INSTALL_MS, signal);
    await writeFile(join(this.folder, DONE), `${wheel}\n`);
    await this.removeOthers();
    return this.folder;
  }

  private async removeOthers(): Promise<void> {
    for (const name of await readdir(this.storage).catch(() => [])) {
      const path = join(this.storage, name);
      if (name.startsWith('server-') && path !== this.folder) await rm(path, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

async function findPython(setting: string, folders: readonly string[]): Promise<string> {
  const inside = (path: string): boolean => folders.some((folder) => path === folder || path.startsWith(folder + sep));
  const path = (process.env.PATH ?? '').split(delimiter).filter((entry) => isAbsolute(entry) && !inside(entry));
  for (const name of pythonNames(setting)) {
    const tried = isAbsolute(name) ? [name] : path.map((entry) => join(entry, name));
    for (const command of tried.filter((one) => existsSync(one))) {
      const { printed } = await run(command, ['--version']);
      if (printed !== undefined && pythonFits(printed)) return command;
    }
  }
  throw new Error(`no Python ${OLDEST.major}.${OLDEST.minor} or newer was found; set "loopline.server.python"`);
}

async function must(command: string, args: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<void> {
  const { failure } = await run(command, args, { timeoutMs, signal });
  if (signal.aborted) throw new Error('installing the server was cancelled');
  if (failure !== undefined) throw new Error(`${command} ${args.slice(0, 3).join(' ')}: ${failure}`);
}

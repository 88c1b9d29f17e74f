// Log files of VS Code in tests, in place of `@vscode/spdlog`, which would have to be compiled: the part of its
// interface that the editor uses. Lines are appended at once, so that a reader never waits for a flush.
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warn", "error", "critical"];

class Logger {
  constructor(file) {
    this.file = file;
    this.level = 2;
    this.plain = false;
    LEVELS.forEach((name, level) => {
      this[name] = (text) => {
        if (level < this.level) return;
        const when = new Date().toISOString().replace("T", " ").replace("Z", "");
        fs.appendFileSync(this.file, this.plain ? `${text}` : `${when} [${name}] ${text}\n`);
      };
    });
  }
  getLevel() { return this.level; }
  setLevel(level) { this.level = level; }
  setPattern() { this.plain = false; }
  clearFormatters() { this.plain = true; }
  flush() {}
  drop() {}
}

async function createLogger(name, file) {
  await fs.promises.mkdir(path.dirname(file), { recursive: true });
  fs.appendFileSync(file, "");
  return new Logger(file);
}

exports.version = 0;
exports.Logger = Logger;
exports.setLevel = () => {};
exports.setFlushOn = () => {};
exports.createRotatingLogger = createLogger;
exports.createAsyncRotatingLogger = createLogger;

/** Text of others, made safe to look at: control characters and marks that reorder text become visible. Pure. */

/** Escape sequences of terminals that only colour or move. */
const SEQUENCES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
/** What turns the direction of text around, what has no width, and what breaks lines unseen. */
const HIDDEN = /[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** As text, with nothing hidden: an escape sequence shows as what it is. */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(CONTROL, (found) => {
      const code = found.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
    })
    .replace(HIDDEN, (found) => `\u27e8U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}\u27e9`);
}

/** Output of programs, without the colours that it was written with. */
export function output(text: string): string {
  return visible(text.replace(SEQUENCES, ''));
}

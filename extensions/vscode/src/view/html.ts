/** The page of the session view. Nothing in it may come from elsewhere, and only our script runs. Pure. */

export interface Parts {
  readonly nonce: string;
  /** The webview's own source of files, for the style sheet. */
  readonly source: string;
  readonly script: string;
  readonly style: string;
}

export function policy(parts: Pick<Parts, 'nonce' | 'source'>): string {
  return [
    `default-src 'none'`, `script-src 'nonce-${parts.nonce}'`, `style-src ${parts.source}`, `img-src 'none'`,
    `font-src 'none'`, `connect-src 'none'`, `frame-src 'none'`, `form-action 'none'`, `base-uri 'none'`,
  ].join('; ');
}

export function page(parts: Parts): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(parts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${parts.style}">
<title>Loopline</title>
</head>
<body>
<div id="app"></div>
<script nonce="${parts.nonce}" src="${parts.script}"></script>
</body>
</html>`;
}

/** The HTML document that contains every page. */
import { type Html, html, none } from './html.ts';

export const document = (title: Html, body: Html, script: Html = none): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · musterd</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="preload" href="/assets/files/inter-latin-wght-normal.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="/assets/letters.css">
<link rel="stylesheet" href="/assets/style.css">
${script}
</head>
<body>
${body}
</body>
</html>
`;

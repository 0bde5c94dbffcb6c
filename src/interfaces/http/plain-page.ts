/** Pages that the service makes itself, in the look of the dashboard. Self-contained: no scripts or external assets. */
import { sha256 } from '../../platform/ground/crypto.ts'
import type { RouteResponse } from './route.ts'

/**
 * Light and dark. A test compares them with the style sheet of the dashboard. Both sets are written out, because mail is
 * read on devices whose browser does not know `light-dark()`.
 */
export const plainColours = {
  surface: ['#fafafa', '#141518'],
  raised: ['#ffffff', '#191b1f'],
  hover: ['#f3f4f5', '#1d1f24'],
  selected: ['#ecedf0', '#24272d'],
  line: ['#e5e6e9', '#26292f'],
  'line-strong': ['#cfd2d7', '#3a3e46'],
  text: ['#17181b', '#ecedef'],
  muted: ['#5a5f68', '#a0a5ae'],
  accent: ['#4f46e5', '#8b85ff'],
  'accent-solid': ['#4f46e5', '#5b52ea'],
  'accent-solid-hover': ['#4338ca', '#6a62f0'],
  ok: ['#12804a', '#4cc38a'],
  warn: ['#8f5a00', '#f0b429'],
} as const

const coloursOf = (theme: 0 | 1): string =>
  Object.entries(plainColours)
    .map(([name, values]) => `--c-${name}: ${values[theme]};`)
    .join(' ')

const style = `
:root { color-scheme: light dark; ${coloursOf(0)} }
@media (prefers-color-scheme: dark) { :root { ${coloursOf(1)} } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; min-height: 100svh; padding: 12vh 16px 40px;
  background: var(--c-surface); color: var(--c-text);
  font: 16px/24px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  -webkit-font-smoothing: antialiased;
}
main {
  max-width: 400px; margin: 0 auto; padding: 24px;
  background: var(--c-raised); border: 1px solid var(--c-line); border-radius: 6px;
}
svg { display: block; width: 32px; height: 32px; margin-bottom: 16px; color: var(--c-muted); }
svg.good { color: var(--c-ok); }
svg.warn { color: var(--c-warn); }
svg.mark { color: var(--c-accent); }
h1 { margin: 0 0 8px; font-size: 20px; line-height: 28px; font-weight: 600; text-wrap: balance; }
h1, p, li { overflow-wrap: anywhere; }
p, ul { margin: 0 0 12px; color: var(--c-muted); text-wrap: pretty; }
ul { padding-left: 20px; }
strong { color: var(--c-text); font-weight: 600; }
code {
  padding: 1px 4px; border-radius: 4px; background: var(--c-selected); color: var(--c-text);
  font: 13px/20px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
a { color: var(--c-accent); font-weight: 500; text-underline-offset: 2px; }
main > :last-child { margin-bottom: 0; }
form { margin: 20px 0; }
form + form { margin-top: -8px; }
button {
  width: 100%; min-height: 44px; padding: 8px 12px; border: 1px solid transparent; border-radius: 6px; cursor: pointer;
  background: var(--c-accent-solid); color: #ffffff; font: inherit; font-weight: 500;
}
button:hover { background: var(--c-accent-solid-hover); }
form + form button { background: var(--c-raised); color: var(--c-text); border-color: var(--c-line-strong); }
form + form button:hover { background: var(--c-hover); }
:focus-visible { outline: 2px solid var(--c-accent); outline-offset: 2px; }
.small { font-size: 14px; line-height: 20px; }
@media (min-width: 640px) {
  body { font-size: 14px; line-height: 20px; }
  button { min-height: 36px; }
  .small { font-size: 13px; }
}
@media (forced-colors: active) { button, main { border: 1px solid; } }
`

const icons = {
  mail: '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="m3.5 7.5 8.5 6 8.5-6"/>',
  card: '<rect x="2" y="5" width="20" height="14" rx="2"/><path d="M2 10h20"/>',
  good: '<circle cx="12" cy="12" r="10"/><path d="m8 12.5 3 3 5.5-6.5"/>',
  warn: '<circle cx="12" cy="12" r="10"/><path d="M12 7v6"/><path d="M12 16.5v.5"/>',
  mark: '<rect x="2" y="2" width="20" height="20" rx="5"/><path d="M7 9h10M12 9v8"/>',
}

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const encode = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => escapes[character] as string)

/** Names and addresses may be right-to-left text. `bdi` keeps them from reordering the words around them. */
export const quotedName = (text: string): string => `<strong><bdi>${encode(text)}</bdi></strong>`

type PageContent = { icon: keyof typeof icons; title: string; body: string }

/** `title` and `body` are HTML. */
export const plainPage = ({ icon, title, body }: PageContent): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<svg class="${icon}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${icons[icon]}</svg>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`

export const plainPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${sha256(style).toString('base64')}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
}

export const pageResponse = (status: number, page: string): RouteResponse => ({
  status,
  body: page,
  contentType: plainPageHeaders['content-type'],
  headers: plainPageHeaders,
})

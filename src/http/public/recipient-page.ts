/** The pages that recipients see when they follow a link in an email. Self-contained: no scripts or external assets. */
import { sha256 } from '../../ground/crypto.ts'

const style = `
:root {
  color-scheme: light dark;
  --back: #f4f5f7; --card: #fff; --edge: #e3e6ea; --ink: #1b1f24; --soft: #5a6370;
  --main: #1f5fd6; --main-ink: #fff; --main-over: #184dae; --good: #1a7f4b; --warn: #b3541e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0f1216; --card: #191d23; --edge: #2c323b; --ink: #e8ebef; --soft: #a3acb8;
    --main: #6ea2ff; --main-ink: #0b1526; --main-over: #8fb8ff; --good: #5bcf95; --warn: #f0a36b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; min-height: 100vh; min-height: 100svh; padding: 1.5rem; display: grid; place-items: center;
  background: var(--back); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main {
  width: 100%; max-width: 27rem; padding: 2.25rem 2rem; text-align: center;
  background: var(--card); border: 1px solid var(--edge); border-radius: 1rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 5%), 0 10px 30px rgb(0 0 0 / 6%);
}
svg { width: 3rem; height: 3rem; margin-bottom: 1rem; color: var(--soft); }
svg.good { color: var(--good); }
svg.warn { color: var(--warn); }
h1 { margin: 0 0 .75rem; font-size: 1.375rem; line-height: 1.3; letter-spacing: -.01em; text-wrap: balance; }
h1, p { overflow-wrap: anywhere; }
p { margin: 0 0 .75rem; color: var(--soft); text-wrap: pretty; }
p strong { color: var(--ink); font-weight: 600; }
p:last-child { margin-bottom: 0; }
form { margin: 1.5rem 0; }
button {
  width: 100%; min-height: 3rem; padding: .75rem 1.25rem; border: 0; border-radius: .625rem; cursor: pointer;
  background: var(--main); color: var(--main-ink); font: inherit; font-weight: 600;
}
button:hover { background: var(--main-over); }
button:focus-visible { outline: 3px solid var(--main); outline-offset: 3px; }
.small { font-size: .875rem; }
@media (max-width: 26rem) { body { padding: 1rem; } main { padding: 1.75rem 1.25rem; } }
@media (forced-colors: active) { button { border: 1px solid; } }
`

const icons = {
  mail: '<rect x="5" y="11" width="38" height="26" rx="4"/><path d="m6 14 18 13 18-13"/>',
  good: '<circle cx="24" cy="24" r="19"/><path d="m15.5 24.5 6 6 11-12.5"/>',
  warn: '<circle cx="24" cy="24" r="19"/><path d="M24 14v13"/><path d="M24 33.5v.5"/>',
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
export const publicPage = ({ icon, title, body }: PageContent): string => `<!doctype html>
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
<svg class="${icon}" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${icons[icon]}</svg>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`

export const pageHeaders = {
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

export type Recipient = { address: string; orgName: string }

/** The form field that the button of the page sends. */
export const confirmation = { name: 'confirm', value: 'unsubscribe' }

export const confirmPage = ({ address, orgName }: Recipient): string =>
  publicPage({
    icon: 'mail',
    title: 'Unsubscribe?',
    body: `<p>Do you want to stop receiving mailings from ${quotedName(orgName)} at ${quotedName(address)}?</p>
<form method="post">
<input type="hidden" name="${confirmation.name}" value="${confirmation.value}">
<button type="submit">Unsubscribe</button>
</form>
<p class="small">You may still receive messages about your account or orders, such as receipts.</p>`,
  })

export const donePage = ({ address, orgName }: Recipient): string =>
  publicPage({
    icon: 'good',
    title: 'You are unsubscribed',
    body: `<p>${quotedName(address)} will no longer receive mailings from ${quotedName(orgName)}.</p>
<p class="small">You can close this page.</p>`,
  })

export const alreadyPage = ({ address, orgName }: Recipient): string =>
  publicPage({
    icon: 'good',
    title: 'You are already unsubscribed',
    body: `<p>${quotedName(address)} does not receive mailings from ${quotedName(orgName)}.</p>
<p class="small">You can close this page.</p>`,
  })

export const invalidPage: string = publicPage({
  icon: 'warn',
  title: 'This link is not valid',
  body: `<p>The link may be incomplete or altered. Nothing was changed.</p>
<p class="small">Please open the link from the message again, or copy the complete link.</p>`,
})

export const tryAgainPage: string = publicPage({
  icon: 'warn',
  title: 'Please try again',
  body: `<p>Something went wrong, and your subscription has not changed.</p>
<p class="small">Please open the link from the message again in a few minutes.</p>`,
})

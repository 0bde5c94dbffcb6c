/** The page for a request that cannot be sent back to its client, because the client or its address is not known. */
const page = (reason: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex, nofollow">
    <title>This request cannot be answered</title>
  </head>
  <body>
    <main>
      <h1>This request cannot be answered</h1>
      <p>${reason}</p>
      <p>Nothing was allowed. Go back to the program that sent you here and connect it again.</p>
    </main>
  </body>
</html>
`

const reasons = {
  client: 'The program that sent you here is not registered, or the address it wants to return to is not its own.',
  length: 'The link that brought you here is too long. Sign in first, then open it again.',
}

export type RefusalReason = keyof typeof reasons

export const refusalPage = (reason: RefusalReason): string => page(reasons[reason])

export const refusalHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

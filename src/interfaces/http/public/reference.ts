/** Serves the API description at /api/openapi.json and the API reference at /docs. */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import { runInSlices } from '../../../platform/ground/event-loop-turns.ts'
import { describeInSteps, type WebhookShape } from '../openapi.ts'
import { byAnyone, defineRoute, type PublicRoute, type Route } from '../route.ts'
import { once, type StoredPage, store, storedResponse } from './stored.ts'

const json = 'application/json; charset=utf-8'
const html = 'text/html; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'

/**
 * The script of the page is inside a module that takes half a second to load and includes a parser that the service does
 * not need. A worker thread that exits afterwards keeps the delay and the memory away from request handling.
 */
const scriptReader = `
const { workerData, parentPort } = require('node:worker_threads')
const read = async ({ fastify, reference }) => {
  const app = require(fastify)()
  const { default: plugin } = await import(reference)
  await app.register(plugin, { routePrefix: '/docs', configuration: { url: '/' } })
  const { statusCode, payload } = await app.inject('/docs/js/scalar.js')
  if (statusCode !== 200) throw new Error('The API reference plugin did not return its script.')
  parentPort.postMessage(payload)
}
read(workerData)
`

const readScript = (): Promise<string> =>
  new Promise((resolve, reject) => {
    const { resolve: locate } = createRequire(import.meta.url)
    const worker = new Worker(scriptReader, {
      eval: true,
      workerData: { fastify: locate('fastify'), reference: locate('@scalar/fastify-api-reference') },
    })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The worker exited before it returned the API reference script.')))
  })

/** Examples are shown only as curl or raw HTTP, since no client library is needed. */
const hiddenClients = [
  'c clojure csharp dart fsharp go java js julia kotlin node objc ocaml php powershell python r ruby rust swift',
  'shell/httpie shell/wget',
].flatMap((names) => names.split(' '))

/** The page must not contact another origin: no vendor fonts, telemetry, proxy, assistant or hosted client. */
const settings = {
  title: 'Tidings',
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  persistAuth: false,
  documentDownloadType: 'direct',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  hiddenClients,
  localization: { translations: { clientLibraries: { heading: 'Examples as' } } },
  authentication: { preferredSecurityScheme: 'apiKey' },
  orderSchemaPropertiesBy: 'preserve',
  theme: 'default',
}

/**
 * Wraps the vendor's script.
 * - `jitless` stops its validator from compiling code, which the page's content security policy blocks.
 * - URLs are derived from the page's own URL, so requests go to the same server whatever the public URL is.
 * - The vendor fills in optional filters with their first value, in examples too. They are disabled until a reader
 *   enables them.
 */
const pageScript = (vendorScript: string): string => `globalThis.__zod_globalConfig = { jitless: true };
${vendorScript}
;(() => {
  const base = new URL('.', location.href).href.replace(/\\/$/, '')
  const url = base + '/api/openapi.json'

  const withFiltersDisabled = (description) => {
    const operations = Object.values(description.paths).flatMap(Object.values)
    for (const parameter of operations.flatMap((operation) => operation.parameters)) {
      const value = parameter.schema?.default ?? parameter.schema?.enum?.[0]
      if (parameter.in === 'query' && !parameter.required && value !== undefined) {
        parameter.examples = { default: { value, 'x-disabled': true } }
      }
    }
    return description
  }

  Scalar.createApiReference('#reference', {
    ...${JSON.stringify(settings)},
    url,
    servers: [{ url: base, description: 'This service' }],
    customFetch: async (input, init) => {
      const response = await fetch(input, init)
      return response.url === url && response.ok ? Response.json(withFiltersDisabled(await response.json())) : response
    },
  })
})()
`

/** The icon of the dashboard. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E" +
  "%3Crect width='32' height='32' rx='7' fill='%234f46e5'/%3E" +
  "%3Cpath d='M8 11h16M16 11v11' stroke='white' stroke-width='3.5' stroke-linecap='round' fill='none'/%3E%3C/svg%3E"

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Tidings</title>
    <link rel="icon" href="${icon}">
  </head>
  <body>
    <div id="reference"></div>
    <noscript>This page requires JavaScript. You can read the OpenAPI description at <a href="api/openapi.json">api/openapi.json</a>.</noscript>
    <script src="docs/reference.js"></script>
  </body>
</html>
`

const pageHeaders = {
  'content-security-policy': [
    "default-src 'self'",
    "script-src 'self'",
    // The script adds style elements and attributes, and not all of them support a nonce.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
}

type Needs = {
  routes: readonly PublicRoute[]
  serviceVersion: string
  baseUrl: string | undefined
  webhooks?: readonly WebhookShape[]
}
type Read = () => Promise<StoredPage>

const serve = (path: string, read: Read, headers?: Record<string, string>): Route =>
  defineRoute('GET', path, byAnyone, {
    responses: { 200: 'file', 304: null },
    handle: async (call) => storedResponse(call.headers, await read(), headers),
  })

export const referenceRoutes = (needs: Needs): Route[] => {
  const description = once(async () => store(json, JSON.stringify(await runInSlices(describeInSteps(needs)))))
  const script = once(async () => store(javascript, pageScript(await readScript())))
  const stored = store(html, page)
  const readPage = async (): Promise<StoredPage> => {
    // The browser requests the script next, and the first load is slow, so start it now. That request reports errors.
    script().catch(() => undefined)
    return stored
  }

  return [
    serve('/api/openapi.json', description),
    serve('/docs', readPage, pageHeaders),
    serve('/docs/reference.js', script),
  ]
}

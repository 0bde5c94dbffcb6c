/** The API description for programs at /api/openapi.json, and for people at /docs. */
import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import { describeApi, type WebhookShape } from '../openapi.ts'
import type { Route } from '../route.ts'
import { once, type StoredPage, sendStored, store } from './stored.ts'

const json = 'application/json; charset=utf-8'
const html = 'text/html; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'

/**
 * The page's script comes inside a module that takes half a second to load, with a parser this service has no use for.
 * A thread that ends with its work keeps both the pause and the memory away from the requests being served.
 */
const scriptReader = `
const { workerData, parentPort } = require('node:worker_threads')
const read = async ({ fastify, reference }) => {
  const app = require(fastify)()
  const { default: plugin } = await import(reference)
  await app.register(plugin, { routePrefix: '/docs', configuration: { url: '/' } })
  const { statusCode, payload } = await app.inject('/docs/js/scalar.js')
  if (statusCode !== 200) throw new Error('the reference serves no script')
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
    worker.once('exit', () => reject(new Error('the script of the reference could not be read')))
  })

/** Examples are curl or the bare request: neither asks for a library. */
const otherThanHttp = [
  'c clojure csharp dart fsharp go java js julia kotlin node objc ocaml php powershell python r ruby rust swift',
  'shell/httpie shell/wget',
].flatMap((names) => names.split(' '))

/** Nothing here may reach another origin: no fonts, figures, proxy, assistant or hosted client of the vendor. */
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
  hiddenClients: otherThanHttp,
  localization: { translations: { clientLibraries: { heading: 'Examples as' } } },
  authentication: { preferredSecurityScheme: 'apiKey' },
  orderSchemaPropertiesBy: 'preserve',
  theme: 'default',
}

/**
 * What stands before and after the vendor's script. The validator inside it would compile code, which the page's policy
 * refuses, unless told not to. Addresses are worked out from where the page was opened, so that requests go there
 * whatever the public address is. A filter with a list of values would come filled in with the first of them, in the
 * examples too: it is turned off until someone asks for it.
 */
const pageScript = (vendors: string): string => `globalThis.__zod_globalConfig = { jitless: true };
${vendors}
;(() => {
  const base = new URL('.', location.href).href.replace(/\\/$/, '')
  const url = base + '/api/openapi.json'

  const withFiltersOff = (description) => {
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
      const answer = await fetch(input, init)
      return answer.url === url && answer.ok ? Response.json(withFiltersOff(await answer.json())) : answer
    },
  })
})()
`

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E" +
  "%3Crect width='32' height='32' rx='7' fill='%231f6feb'/%3E" +
  "%3Cpath d='M7 10h18v12H7zl9 7 9-7' fill='none' stroke='white' stroke-width='2.2' stroke-linejoin='round'/%3E%3C/svg%3E"

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
    <noscript>This page needs JavaScript. The description it shows is at <a href="api/openapi.json">api/openapi.json</a>.</noscript>
    <script src="docs/reference.js"></script>
  </body>
</html>
`

const pageHeaders = {
  'content-security-policy': [
    "default-src 'self'",
    "script-src 'self'",
    // The script writes style elements and attributes, not all of which take a nonce.
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

const otherMethods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

type Needs = {
  routes: readonly Route[]
  serviceVersion: string
  baseUrl: string | undefined
  webhooks?: readonly WebhookShape[]
}
type Read = () => Promise<StoredPage>

export const registerReference = (app: FastifyInstance, needs: Needs): void => {
  const serve = (url: string, read: Read, headers: Record<string, string> = {}): void => {
    app.get(url, async (request, reply) => sendStored(request, reply.headers(headers), await read()))
    app.route({
      method: otherMethods,
      url,
      onRequest: async () => {
        throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, HEAD' } })
      },
      handler: () => undefined,
    })
  }

  const description = once(async () => store(json, JSON.stringify(describeApi(needs))))
  const script = once(async () => store(javascript, pageScript(await readScript())))
  const stored = store(html, page)
  const openPage = async (): Promise<StoredPage> => {
    // Its script is asked for next, and takes a while the first time. A failure is told to whoever asks.
    script().catch(() => undefined)
    return stored
  }

  serve('/api/openapi.json', description)
  serve('/docs', openPage, pageHeaders)
  serve('/docs/reference.js', script)
}

/** The dashboard at /, or a page that says what this server is when the dashboard is not built. Programs get JSON. */
import type { FastifyInstance } from 'fastify'
import { Failure } from '../../../platform/ground/errors.ts'
import { plainPage, plainPageHeaders } from '../plain-page.ts'
import type { WebPages } from '../server.ts'

const links = {
  documentation: '/docs',
  openapi: '/api/openapi.json',
  health: '/healthz',
  readiness: '/readyz',
}

const page = (version: string): string =>
  plainPage({
    icon: 'mark',
    title: `Tidings ${version}`,
    body: `<p>This server sends email, text messages and webhooks. Its API is under <code>/api/v1</code>.</p>
<p>The dashboard is not built. Run <code>npm run build</code> in the folder of the service and start it again.</p>
<ul>
<li><a href="docs">API reference</a></li>
<li><a href="api/openapi.json">OpenAPI description</a></li>
<li><a href="healthz">Health</a> and <a href="readyz">readiness</a></li>
</ul>`,
  })

const programHeaders = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}

/** Browsers name the type. Programs that accept anything get JSON. */
const wantsPage = (accept = ''): boolean => /(?:^|,)\s*text\/html\s*(?:;|,|$)/i.test(accept)

export const registerRoot = (app: FastifyInstance, serviceVersion: string, web?: WebPages): void => {
  const html = page(serviceVersion)
  app.get('/', async (request, reply) => {
    if (web?.serves(request)) return web.send(request, reply)
    reply.header('vary', 'accept')
    if (wantsPage(request.headers.accept)) return reply.headers(plainPageHeaders).send(html)
    reply.headers(programHeaders)
    return { name: 'Tidings', version: serviceVersion, links }
  })
  // Without OPTIONS, because the router would also find this route for the target `*`.
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/',
    onRequest: async () => {
      throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: 'GET, HEAD' } })
    },
    handler: () => undefined,
  })
}

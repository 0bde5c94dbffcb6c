/** What links in mail lead to: the pixel, wrapped links, unsubscribing. No key, no limit on how often. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import { withRequestId } from '../../ground/request-context.ts'
import type { CountHits } from '../../tracking/count.ts'
import { isWebUrl } from '../../tracking/rewrite.ts'
import type { Tokens, UnsubscribeRef } from '../../tracking/tokens.ts'
import type { SubscriptionState, Unsubscribe, UnsubscribeSource } from '../../tracking/unsubscribe.ts'
import { callerAddress } from '../caller-address.ts'
import {
  alreadyPage,
  confirmation,
  confirmPage,
  donePage,
  invalidPage,
  pageHeaders,
  tryAgainPage,
} from './recipient-page.ts'

/** One transparent pixel. */
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const uncached = {
  'cache-control': 'no-store, no-cache, must-revalidate, private',
  pragma: 'no-cache',
  expires: '0',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/** A form of two fields; whatever is larger was not sent by a mail program or our page. */
const bodyLimit = 8_192

/** How long a recipient is kept waiting for a count; one that takes longer goes on behind the answer. */
const defaultPatienceMs = 2_000

type Needs = {
  tokens: Tokens
  count: CountHits
  unsubscribe: Unsubscribe
  log: Log
  trustedProxyHops: number
  patienceMs?: number
}

/** As a header takes it: what is not visible ASCII is encoded as a browser would on following it. */
const location = (url: string): string => (/^[\x21-\x7e]+$/.test(url) ? url : new URL(url).href)

const fields = async (request: FastifyRequest): Promise<(name: string) => string | undefined> => {
  const bytes = (request.body as Buffer | undefined) ?? Buffer.alloc(0)
  const type = request.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(type)) {
    const form = new URLSearchParams(bytes.toString('utf8').trim())
    return (name) => form.get(name) ?? undefined
  }
  const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': type } })
    .formData()
    .catch(() => undefined)
  return (name) => {
    const value = form?.get(name)
    return typeof value === 'string' ? value.trim() : undefined
  }
}

const sourceOf = async (request: FastifyRequest): Promise<UnsubscribeSource | undefined> => {
  const field = await fields(request)
  if (field('List-Unsubscribe') === 'One-Click') return 'one_click'
  return field(confirmation.name) === confirmation.value ? 'email_link' : undefined
}

const tokenOf = (request: FastifyRequest): string => (request.params as { '*': string })['*']

const show = (reply: FastifyReply, status: number, page: string): FastifyReply =>
  reply.code(status).headers(pageHeaders).send(page)

export const registerTracking = (app: FastifyInstance, needs: Needs): void => {
  const { tokens, count, unsubscribe, log, trustedProxyHops, patienceMs = defaultPatienceMs } = needs

  /** Counts as best it can. A look ahead (HEAD) is no load and no click. */
  const counted = async (request: FastifyRequest, run: (address: string | null) => Promise<boolean>): Promise<void> => {
    if (request.method === 'HEAD') return
    const { promise: enough, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patienceMs)
    const counting = withRequestId(request.id, () => run(callerAddress(request.raw, trustedProxyHops)))
      .catch((error) => log.error({ err: error, request_id: request.id }, 'a hit could not be counted'))
      .finally(() => clearTimeout(timer))
    await Promise.race([counting, enough])
  }

  const pixel = async (request: FastifyRequest, reply: FastifyReply) => {
    const ref = tokens.open.read(tokenOf(request))
    if (!ref) throw new Failure('NOT_FOUND')
    await counted(request, (address) => count.opened(ref, address))
    return reply.headers(uncached).type('image/gif').send(gif)
  }

  const follow = async (request: FastifyRequest, reply: FastifyReply) => {
    const ref = tokens.click.read(tokenOf(request))
    if (!ref || !isWebUrl(ref.url)) return show(reply, 404, invalidPage)
    await counted(request, (address) => count.clicked(ref, address))
    return reply.headers(uncached).redirect(location(ref.url), 302)
  }

  /** Shows what `answer` makes of a link that speaks for somebody; a fault is told as one to come back from. */
  const answering =
    (
      answer: (
        ref: UnsubscribeRef,
        standing: SubscriptionState,
        request: FastifyRequest,
      ) => Promise<[status: number, page: string]>,
    ) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const ref = tokens.unsubscribe.read(tokenOf(request))
      if (!ref) return show(reply, 404, invalidPage)
      try {
        const standing = await unsubscribe.standing(ref)
        if (!standing) return show(reply, 404, invalidPage)
        return show(reply, ...(await answer(ref, standing, request)))
      } catch (error) {
        log.error({ err: error, request_id: request.id }, 'an unsubscribe could not be served')
        return show(reply.header('retry-after', '60'), 503, tryAgainPage)
      }
    }

  const look = answering(async ({ address }, { orgName, unsubscribed }) => [
    200,
    (unsubscribed ? alreadyPage : confirmPage)({ address, orgName }),
  ])

  const take = answering(async (ref, { orgName }, request) => {
    const recipient = { address: ref.address, orgName }
    const source = await sourceOf(request)
    // Neither a mail program nor our button: a person is asked.
    if (!source) return [422, confirmPage(recipient)]
    return [200, ((await unsubscribe.take(ref, source)) ? donePage : alreadyPage)(recipient)]
  })

  const refuseOthers = (scope: FastifyInstance, url: string, allowed: string[]): void => {
    scope.route({
      method: ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((method) => !allowed.includes(method)),
      url,
      onRequest: async () => {
        throw new Failure('METHOD_NOT_ALLOWED', { headers: { allow: allowed.join(', ') } })
      },
      handler: () => undefined,
    })
  }

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // Mail programs send forms of both kinds, and not all of them say which.
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    // The rest of the path and not a parameter, which the router keeps short.
    scope.get('/t/o/*', pixel)
    scope.get('/t/c/*', follow)
    scope.get('/u/*', look)
    scope.post('/u/*', { bodyLimit }, take)
    refuseOthers(scope, '/t/o/*', ['GET', 'HEAD'])
    refuseOthers(scope, '/t/c/*', ['GET', 'HEAD'])
    refuseOthers(scope, '/u/*', ['GET', 'HEAD', 'POST'])
  })
}

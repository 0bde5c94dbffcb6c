/** Serves the links in emails: the open pixel, tracked links and unsubscribe. No API key, no rate limit. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../ground/errors.ts'
import type { Log } from '../../ground/log.ts'
import { withRequestId } from '../../ground/request-context.ts'
import type { CountHits } from '../../tracking/count.ts'
import type { Tokens, UnsubscribeRef } from '../../tracking/tokens.ts'
import type { SubscriptionState, Unsubscribe, UnsubscribeSource } from '../../tracking/unsubscribe.ts'
import { isWebUrl } from '../../tracking/web-url.ts'
import { callerAddress, type ProxyTrust } from '../caller-address.ts'
import { plainPageHeaders } from '../plain-page.ts'
import type { ReadBody } from '../read-body.ts'
import { alreadyPage, confirmation, confirmPage, donePage, invalidPage, tryAgainPage } from './recipient-page.ts'

/** A transparent image of one pixel. */
const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')

const uncached = {
  'cache-control': 'no-store, no-cache, must-revalidate, private',
  pragma: 'no-cache',
  expires: '0',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

/** Large enough for the two-field forms that mail programs and the unsubscribe page send. */
const bodyLimit = 8_192

/** How long a response waits for its hit to be counted. A slower count continues after the response is sent. */
const defaultCountTimeoutMs = 2_000

type Needs = {
  tokens: Tokens
  count: CountHits
  unsubscribe: Unsubscribe
  log: Log
  proxies: ProxyTrust
  readBody: ReadBody
  countTimeoutMs?: number
}

/** The URL in a form that a header allows. Characters other than visible ASCII are encoded as browsers do. */
const location = (url: string): string => (/^[\x21-\x7e]+$/.test(url) ? url : new URL(url).href)

const readForm = async (request: FastifyRequest): Promise<(name: string) => string | undefined> => {
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
  const field = await readForm(request)
  if (field('List-Unsubscribe') === 'One-Click') return 'one_click'
  return field(confirmation.name) === confirmation.value ? 'email_link' : undefined
}

const tokenOf = (request: FastifyRequest): string => (request.params as { '*': string })['*']

const show = (reply: FastifyReply, status: number, page: string): FastifyReply =>
  reply.code(status).headers(plainPageHeaders).send(page)

export const registerTracking = (app: FastifyInstance, needs: Needs): void => {
  const { tokens, count, unsubscribe, log, proxies, readBody, countTimeoutMs = defaultCountTimeoutMs } = needs

  /** Counts an open or click. A failure is only logged. HEAD requests, such as link previews, do not count. */
  const counted = async (request: FastifyRequest, run: (address: string | null) => Promise<boolean>): Promise<void> => {
    if (request.method === 'HEAD') return
    const { promise: timedOut, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, countTimeoutMs)
    const counting = withRequestId(request.id, () => run(callerAddress(request.raw, proxies)))
      .catch((error) => log.error({ err: error, request_id: request.id }, 'counting a tracking hit failed'))
      .finally(() => clearTimeout(timer))
    await Promise.race([counting, timedOut])
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

  /** Handles a request whose unsubscribe token is valid. On an error the page asks the recipient to try again later. */
  const withSubscription =
    (
      respond: (
        ref: UnsubscribeRef,
        subscription: SubscriptionState,
        request: FastifyRequest,
      ) => Promise<[status: number, page: string]>,
    ) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const ref = tokens.unsubscribe.read(tokenOf(request))
      if (!ref) return show(reply, 404, invalidPage)
      try {
        const subscription = await unsubscribe.subscriptionState(ref)
        if (!subscription) return show(reply, 404, invalidPage)
        return show(reply, ...(await respond(ref, subscription, request)))
      } catch (error) {
        log.error({ err: error, request_id: request.id }, 'unsubscribe request failed')
        return show(reply.header('retry-after', '60'), 503, tryAgainPage)
      }
    }

  const showUnsubscribe = withSubscription(async ({ address }, { orgName, unsubscribed }) => [
    200,
    (unsubscribed ? alreadyPage : confirmPage)({ address, orgName }),
  ])

  const handleUnsubscribe = withSubscription(async (ref, { orgName }, request) => {
    const recipient = { address: ref.address, orgName }
    const source = await sourceOf(request)
    // Neither one-click nor the button of the page: ask for confirmation.
    if (!source) return [422, confirmPage(recipient)]
    return [200, ((await unsubscribe.take(ref, source)) ? donePage : alreadyPage)(recipient)]
  })

  const rejectOtherMethods = (scope: FastifyInstance, url: string, allowed: string[]): void => {
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
    // Mail programs send both kinds of form, and some omit the content type.
    scope.addContentTypeParser('*', readBody)
    // A wildcard, because the router limits the length of parameters.
    scope.get('/t/o/*', pixel)
    scope.get('/t/c/*', follow)
    scope.get('/u/*', showUnsubscribe)
    scope.post('/u/*', { bodyLimit }, handleUnsubscribe)
    rejectOtherMethods(scope, '/t/o/*', ['GET', 'HEAD'])
    rejectOtherMethods(scope, '/t/c/*', ['GET', 'HEAD'])
    rejectOtherMethods(scope, '/u/*', ['GET', 'HEAD', 'POST'])
  })
}

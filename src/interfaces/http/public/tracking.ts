/** Serves the links in emails: the open pixel, tracked links and unsubscribe. No API key, no rate limit. */
import { z } from 'zod'
import { Failure } from '../../../platform/ground/errors.ts'
import type { Log } from '../../../platform/ground/log.ts'
import type { CountHits } from '../../../sending/tracking/count.ts'
import type { Tokens, UnsubscribeRef } from '../../../sending/tracking/tokens.ts'
import type { SubscriptionState, Unsubscribe, UnsubscribeSource } from '../../../sending/tracking/unsubscribe.ts'
import { isWebUrl } from '../../../sending/tracking/web-url.ts'
import { pageResponse } from '../plain-page.ts'
import {
  byLink,
  type Call,
  defineRoute,
  type LinkAccess,
  type Route,
  type RouteResponse,
  type UploadedFile,
} from '../route.ts'
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

const pages = { 200: z.string(), 404: z.string(), 422: z.string(), 503: z.string() }

/** How long a response waits for its hit to be counted. A slower count continues after the response is sent. */
const defaultCountTimeoutMs = 2_000

type Needs = {
  tokens: Tokens
  count: CountHits
  unsubscribe: Unsubscribe
  log: Log
  countTimeoutMs?: number
}

/** The URL in a form that a header allows. Characters other than visible ASCII are encoded as browsers do. */
const location = (url: string): string => (/^[\x21-\x7e]+$/.test(url) ? url : new URL(url).href)

/** Mail programs send both kinds of form, and some omit the content type. */
const readForm = async ({ contentType: type, bytes }: UploadedFile): Promise<(name: string) => string | undefined> => {
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

const sourceOf = async (upload: UploadedFile): Promise<UnsubscribeSource | undefined> => {
  const field = await readForm(upload)
  if (field('List-Unsubscribe') === 'One-Click') return 'one_click'
  return field(confirmation.name) === confirmation.value ? 'email_link' : undefined
}

type LinkCall<Ref> = Call<LinkAccess<Ref>, unknown, unknown, unknown>

export const trackingRoutes = (needs: Needs): Route[] => {
  const { tokens, count, unsubscribe, log, countTimeoutMs = defaultCountTimeoutMs } = needs

  /** Counts an open or click. A failure is only logged. HEAD requests, such as link previews, do not count. */
  const counted = async ({ method, requestId }: LinkCall<unknown>, run: () => Promise<boolean>): Promise<void> => {
    if (method === 'HEAD') return
    const { promise: timedOut, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, countTimeoutMs)
    const counting = run()
      .catch((error) => log.error({ err: error, request_id: requestId }, 'counting a tracking hit failed'))
      .finally(() => clearTimeout(timer))
    await Promise.race([counting, timedOut])
  }

  /** Handles a request whose unsubscribe token is valid. On an error the page asks the recipient to try again later. */
  const withSubscription =
    (
      respond: (
        ref: UnsubscribeRef,
        subscription: SubscriptionState,
        upload: UploadedFile,
      ) => Promise<[status: number, page: string]>,
    ) =>
    async ({ ref, upload, requestId }: LinkCall<UnsubscribeRef>): Promise<RouteResponse> => {
      if (!ref) return pageResponse(404, invalidPage)
      try {
        const subscription = await unsubscribe.subscriptionState(ref)
        if (!subscription) return pageResponse(404, invalidPage)
        return pageResponse(...(await respond(ref, subscription, upload)))
      } catch (error) {
        log.error({ err: error, request_id: requestId }, 'unsubscribe request failed')
        const page = pageResponse(503, tryAgainPage)
        return { ...page, headers: { ...page.headers, 'retry-after': '60' } }
      }
    }

  return [
    defineRoute('GET', '/t/o/*', byLink(tokens.open.read), {
      responses: { 200: 'file' },
      handle: async (call) => {
        const { ref, address } = call
        if (!ref) throw new Failure('NOT_FOUND')
        await counted(call, () => count.opened(ref, address))
        return { status: 200, file: { contentType: 'image/gif', content: gif }, headers: uncached }
      },
    }),
    defineRoute('GET', '/t/c/*', byLink(tokens.click.read), {
      responses: { 302: null, 404: z.string() },
      handle: async (call) => {
        const { ref, address } = call
        if (!ref || !isWebUrl(ref.url)) return pageResponse(404, invalidPage)
        await counted(call, () => count.clicked(ref, address))
        return { status: 302, headers: { ...uncached, location: location(ref.url) } }
      },
    }),
    defineRoute('GET', '/u/*', byLink(tokens.unsubscribe.read), {
      responses: pages,
      handle: withSubscription(async ({ address }, { orgName, unsubscribed }) => [
        200,
        (unsubscribed ? alreadyPage : confirmPage)({ address, orgName }),
      ]),
    }),
    defineRoute('POST', '/u/*', byLink(tokens.unsubscribe.read), {
      uploads: ['application/x-www-form-urlencoded', 'multipart/form-data'],
      bodyLimit,
      responses: pages,
      handle: withSubscription(async (ref, { orgName }, upload) => {
        const recipient = { address: ref.address, orgName }
        const source = await sourceOf(upload)
        // Neither one-click nor the button of the page: ask for confirmation.
        if (!source) return [422, confirmPage(recipient)]
        return [200, ((await unsubscribe.take(ref, source)) ? donePage : alreadyPage)(recipient)]
      }),
    }),
  ]
}

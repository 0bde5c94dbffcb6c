/** The pages of the local payment provider, which exist in development only. A signed link is enough to use them. */
import { z } from 'zod'
import { isHigherPlan, type Plan } from '../../../customers/orgs/plans.ts'
import type { PlayPayments } from '../../../people/billing/play-payments.ts'
import type { LocalPage, LocalPayments } from '../../../providers/payments/local-payments.ts'
import { pageResponse, plainPage, quotedName } from '../plain-page.ts'
import { byLink, defineRoute, type Route, type RouteResponse, type UploadedFile } from '../route.ts'

const bodyLimit = 8_192

type Needs = { provider: Pick<LocalPayments, 'readPage'>; play: PlayPayments }

type OrgState = { plan: Plan; name: string; paid: boolean }

const notice = '<p class="small">This page replaces the payment provider in development. Nobody is charged.</p>'
const backLink = '<p><a href="/">Back to the service</a></p>'

const expired = plainPage({
  icon: 'warn',
  title: 'This link is not valid',
  body: '<p>It may be incomplete or too old. Nothing was changed. Start again from the billing page.</p>',
})

const button = (action: string, text: string): string =>
  `<form method="post"><button type="submit" name="action" value="${action}">${text}</button></form>`

const checkoutPage = ({ name }: OrgState, plan: Plan): string =>
  plainPage({
    icon: 'card',
    title: `Upgrade to ${plan}`,
    body: `<p>${quotedName(name)} pays with the test card ending in 4242.</p>\n${button('pay', 'Pay')}\n${notice}`,
  })

const paidPage = ({ name, plan }: OrgState): string =>
  plainPage({
    icon: 'good',
    title: 'Payment complete',
    body: `<p>${quotedName(name)} has the plan ${plan}.</p>\n${backLink}`,
  })

const portalPage = ({ name, plan, paid }: OrgState): string => {
  const buttons = [button('cancel', 'Cancel at the end of the period'), button('end', 'Cancel now')].join('\n')
  const none = '<p>No subscription pays for this plan.</p>'
  const body = `<p>${quotedName(name)} has the plan ${plan}.</p>\n${paid ? buttons : none}\n${notice}\n${backLink}`
  return plainPage({ icon: 'card', title: 'Your subscription', body })
}

const canceledPage = ({ name, plan }: OrgState): string =>
  plainPage({
    icon: 'good',
    title: 'Subscription canceled',
    body: `<p>${quotedName(name)} keeps the plan ${plan} until the period ends.</p>\n${backLink}`,
  })

const actionOf = ({ bytes }: UploadedFile): string | null => new URLSearchParams(bytes.toString('utf8')).get('action')

export const localBillingRoutes = ({ provider, play }: Needs): Route[] => {
  type Respond = (page: LocalPage, org: OrgState, upload: UploadedFile) => Promise<string>

  const answer = async (
    page: LocalPage | undefined,
    upload: UploadedFile,
    respond: Respond,
  ): Promise<RouteResponse> => {
    const org = page && (await play.find(page.orgId))
    return page && org ? pageResponse(200, await respond(page, org, upload)) : pageResponse(404, expired)
  }

  const serve = (method: 'GET' | 'POST', kind: 'checkout' | 'portal', respond: Respond): Route =>
    defineRoute(
      method,
      `/billing/${kind}/*`,
      byLink((token) => {
        const page = provider.readPage(token)
        return page && (page.plan === null) === (kind === 'portal') ? page : undefined
      }),
      {
        hidden: true,
        ...(method === 'POST' && { uploads: ['application/x-www-form-urlencoded'], bodyLimit }),
        responses: { 200: z.string(), 404: z.string() },
        handle: ({ ref, upload }) => answer(ref, upload, respond),
      },
    )

  const now = async (orgId: string, org: OrgState): Promise<OrgState> => (await play.find(orgId)) ?? org

  const showCheckout: Respond = async ({ plan }, org) =>
    plan !== null && isHigherPlan(plan, org.plan) ? checkoutPage(org, plan) : paidPage(org)

  const pay: Respond = async (page, org, upload) => {
    const { orgId, plan } = page
    // A second click, or an old link, must not take a higher plan away.
    if (actionOf(upload) !== 'pay' || plan === null || !isHigherPlan(plan, org.plan)) {
      return showCheckout(page, org, upload)
    }
    await play.pay(orgId, plan)
    return paidPage(await now(orgId, org))
  }

  const change: Respond = async ({ orgId }, org, upload) => {
    const action = actionOf(upload)
    if (!org.paid || (action !== 'cancel' && action !== 'end')) return portalPage(org)
    if (action === 'end') {
      await play.pay(orgId, 'free')
      return portalPage(await now(orgId, org))
    }
    await play.cancel(orgId)
    return canceledPage(org)
  }

  return [
    serve('GET', 'checkout', showCheckout),
    serve('POST', 'checkout', pay),
    serve('GET', 'portal', async (_, org) => portalPage(org)),
    serve('POST', 'portal', change),
  ]
}

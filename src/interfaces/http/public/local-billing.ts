/** The pages of the local payment provider, which exist in development only. A signed link is enough to use them. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PlayPayments } from '../../billing/play-payments.ts'
import { withRequestId } from '../../ground/request-context.ts'
import { isHigherPlan, type Plan } from '../../orgs/plans.ts'
import type { LocalPage, LocalPayments } from '../../providers/payments/local-payments.ts'
import { plainPage, plainPageHeaders, quotedName } from '../plain-page.ts'
import type { ReadBody } from '../read-body.ts'

const bodyLimit = 8_192

type Needs = { provider: Pick<LocalPayments, 'readPage'>; play: PlayPayments; readBody: ReadBody }

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

const actionOf = (request: FastifyRequest): string | null =>
  new URLSearchParams(((request.body as Buffer | undefined) ?? Buffer.alloc(0)).toString('utf8')).get('action')

export const registerLocalBilling = (app: FastifyInstance, { provider, play, readBody }: Needs): void => {
  type Respond = (page: LocalPage, org: OrgState, request: FastifyRequest) => Promise<string>

  const answer = (kind: 'checkout' | 'portal', respond: Respond) => (request: FastifyRequest, reply: FastifyReply) =>
    withRequestId(request.id, async () => {
      const page = provider.readPage((request.params as { '*': string })['*'])
      const matches = page !== undefined && (page.plan === null) === (kind === 'portal')
      const org = matches ? await play.find(page.orgId) : undefined
      if (!page || !org) return reply.code(404).headers(plainPageHeaders).send(expired)
      return reply.headers(plainPageHeaders).send(await respond(page, org, request))
    })

  const now = async (orgId: string, org: OrgState): Promise<OrgState> => (await play.find(orgId)) ?? org

  const showCheckout: Respond = async ({ plan }, org) =>
    plan !== null && isHigherPlan(plan, org.plan) ? checkoutPage(org, plan) : paidPage(org)

  const pay: Respond = async (page, org, request) => {
    const { orgId, plan } = page
    // A second click, or an old link, must not take a higher plan away.
    if (actionOf(request) !== 'pay' || plan === null || !isHigherPlan(plan, org.plan)) {
      return showCheckout(page, org, request)
    }
    await play.pay(orgId, plan)
    return paidPage(await now(orgId, org))
  }

  const change: Respond = async ({ orgId }, org, request) => {
    const action = actionOf(request)
    if (!org.paid || (action !== 'cancel' && action !== 'end')) return portalPage(org)
    if (action === 'end') {
      await play.pay(orgId, 'free')
      return portalPage(await now(orgId, org))
    }
    await play.cancel(orgId)
    return canceledPage(org)
  }

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', readBody)
    scope.get('/billing/checkout/*', answer('checkout', showCheckout))
    scope.post('/billing/checkout/*', { bodyLimit }, answer('checkout', pay))
    scope.get(
      '/billing/portal/*',
      answer('portal', async (_, org) => portalPage(org)),
    )
    scope.post('/billing/portal/*', { bodyLimit }, answer('portal', change))
  })
}

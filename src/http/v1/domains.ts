import type { z } from 'zod'
import type { DomainView, ManageDomains } from '../../domains/manage.ts'
import { recordsOf } from '../../domains/records.ts'
import { CreateDomain, Domain, PatchDomain, StartWarmup } from '../../domains/shapes.ts'
import { warmupCap, warmupDay, warmupEnd } from '../../domains/warmup.ts'
import { Failure } from '../../ground/errors.ts'
import { actorOf } from '../actor.ts'
import { Deleted } from '../deleted.ts'
import { page, pageOf, pageQuery } from '../page.ts'
import { defineRoute, type Route } from '../route.ts'

type Shown = z.output<typeof Domain>

const showWarmup = ({ row, sentToday, at }: DomainView): Shown['warmup'] => {
  if (row.warmup_days === null || row.warmup_started_at === null) return null
  const warmup = { days: row.warmup_days, startedAt: row.warmup_started_at }
  const cap = warmupCap(warmup, at)
  if (cap === null) return null
  return {
    status: 'active',
    days: warmup.days,
    day: Math.max(0, warmupDay(warmup, at)),
    daily_cap: cap,
    sent_today: sentToday,
    started_at: warmup.startedAt.toISOString(),
    ends_at: warmupEnd(warmup).toISOString(),
  }
}

const makeShow =
  (serviceDomain: string) =>
  (told: DomainView): Shown => {
    const { row } = told
    return {
      id: row.id,
      name: row.name,
      status: row.status,
      dkim_status: row.dkim_status,
      region: row.region,
      project_id: row.project_id,
      tenant_id: row.tenant_id,
      ip_pool_id: row.ip_pool_id,
      inbound: row.inbound,
      warmup: showWarmup(told),
      created_at: row.created_at.toISOString(),
      verified_at: row.verified_at?.toISOString() ?? null,
      last_checked_at: row.last_checked_at?.toISOString() ?? null,
      records: recordsOf(row, serviceDomain).map((record) => ({
        ...record,
        status: row.record_statuses[record.record] ?? 'pending',
      })),
    }
  }

const notTheirs = ['NOT_FOUND', 'TENANT_FORBIDDEN', 'ENVIRONMENT_ESCALATION'] as const

type Needs = { manage: ManageDomains; serviceDomain: string }

export const domainRoutes = ({ manage, serviceDomain }: Needs): Route[] => {
  const show = makeShow(serviceDomain)
  const base = { tag: 'Domains', scope: 'write:domains', params: { id: 'domain' } } as const
  const answers = { 200: { schema: Domain, about: 'The domain as it is now.' } }

  return [
    defineRoute({
      method: 'POST',
      path: '/domains',
      tag: 'Domains',
      summary: 'Add a domain',
      about: 'Answers the DNS records to publish. It is verified once its DKIM record is found.',
      scope: 'write:domains',
      body: CreateDomain,
      answers: { 201: { schema: Domain, about: 'The new domain.' } },
      refuses: ['DOMAIN_ALREADY_ADDED', 'DOMAIN_RESERVED', 'PLAN_RESOURCE_LIMIT', 'TENANT_FORBIDDEN'],
      handle: async (call) => ({
        status: 201,
        body: show(await manage.create(call.caller, actorOf(call), call.body)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/domains',
      tag: 'Domains',
      summary: 'List domains',
      scope: 'read:domains',
      query: pageQuery,
      answers: { 200: { schema: pageOf(Domain), about: 'A page, newest first.' } },
      handle: async ({ caller, query }) => {
        const told = await manage.list(caller, query.cursor, query.limit + 1)
        const listed = told.map((one) => ({ ...one, id: one.row.id, created_at: one.row.created_at }))
        return { status: 200, body: page(listed, query.limit, show) }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/domains/{id}',
      tag: 'Domains',
      summary: 'Get a domain',
      scope: 'read:domains',
      params: { id: 'domain' },
      answers: { 200: { schema: Domain, about: 'The domain.' } },
      refuses: ['NOT_FOUND'],
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.get(caller, params.id as string)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/domains/{id}/verify',
      summary: 'Check a domain now',
      about: 'Asks DNS for its records and answers once that is done. At most 10 times a minute per domain.',
      answers,
      refuses: [...notTheirs, 'RATE_LIMITED'],
      handle: async (call) => ({
        status: 200,
        body: show(await manage.verify(call.caller, actorOf(call), call.params.id as string)),
      }),
    }),
    defineRoute({
      ...base,
      method: 'PATCH',
      path: '/domains/{id}',
      summary: 'Change a domain',
      about: 'A dedicated IP pool must be in the region of the domain; `null` goes back to shared addresses.',
      body: PatchDomain,
      answers,
      refuses: [...notTheirs, 'TENANT_KEY_FORBIDDEN'],
      handle: async ({ caller, params, body }) => {
        // Pools belong to the platform and to live mail, and so does who sends through them.
        if (body.ip_pool_id !== undefined) {
          if (caller.tenantState !== undefined) throw new Failure('TENANT_KEY_FORBIDDEN')
          if (caller.environment === 'test') throw new Failure('ENVIRONMENT_ESCALATION')
        }
        return { status: 200, body: show(await manage.patch(caller, params.id as string, body)) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/domains/{id}',
      summary: 'Remove a domain',
      about: 'Nothing can be sent from it any more. Keys that were held to it are held to nothing else.',
      answers: { 200: { schema: Deleted, about: 'Removed.' } },
      refuses: notTheirs,
      handle: async (call) => {
        const id = call.params.id as string
        await manage.remove(call.caller, actorOf(call), id)
        return { status: 200, body: { id, deleted: true } }
      },
    }),
    defineRoute({
      ...base,
      method: 'POST',
      path: '/domains/{id}/warmup',
      summary: 'Start warmup',
      about: 'Caps what is sent a UTC day: 50 recipients on the first, twice as many on each day that follows.',
      body: StartWarmup.optional(),
      answers,
      refuses: [...notTheirs, 'WARMUP_ALREADY_ACTIVE'],
      handle: async (call) => {
        const { days } = call.body ?? StartWarmup.parse({})
        const told = await manage.startWarmup(call.caller, actorOf(call), call.params.id as string, days)
        return { status: 200, body: show(told) }
      },
    }),
    defineRoute({
      ...base,
      method: 'DELETE',
      path: '/domains/{id}/warmup',
      summary: 'End warmup',
      about: 'Lifts the cap at once. Without a warmup it changes nothing.',
      answers,
      refuses: notTheirs,
      handle: async ({ caller, params }) => ({
        status: 200,
        body: show(await manage.endWarmup(caller, params.id as string)),
      }),
    }),
  ]
}

import { askWith, signIn } from '../../clients/people.ts'
import type { Seed } from '../every-page.ts'

/** Tenants in several states, a second project, and a pool of IP addresses. */
const seedTenants: Seed = async ({ t, org, people }) => {
  const cookie = await signIn(t, people.owner.userId)
  const post = async (path: string, body: unknown) =>
    (await askWith(t, cookie, 'POST', `/api/internal/${path}`, { body })).body
  const globex = await post('tenants', { name: 'Globex', external_ref: 'customer-17' })
  const quota = { email_monthly: 10_000, sms_monthly: 500 }
  await askWith(t, cookie, 'PATCH', `/api/internal/tenants/${globex.id}/quota`, { body: quota })
  const initech = await post('tenants', { name: 'Initech', external_ref: 'customer-18' })
  await t.ask('POST', `/api/v1/tenants/${initech.id}/suspend`, { key: org.keys.live })
  await post('projects', { name: 'Web shop' })
  const pool = await post('ip-pools', { name: 'Newsletters', ip_count: 2, region: 'eu-west-1' })
  const [projects] = (await askWith(t, cookie, 'GET', '/api/internal/projects')).body.data
  return {
    '/tenants': [
      '/tenants',
      `/tenants?open=${globex.id}`,
      `/tenants?open=${initech.id}&tab=quotas`,
      `/tenants?open=${globex.id}&tab=api`,
    ],
    '/projects': [`/projects?open=${projects.id}`],
    '/senders/ips': [`/senders/ips?open=${pool.id}`, '/senders/ips?open=new'],
  }
}

export default seedTenants

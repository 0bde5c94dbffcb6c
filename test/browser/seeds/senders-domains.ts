import { domainClient } from '../../clients/domain-client.ts'
import type { Seed } from '../every-page.ts'

/** A domain that waits for its records. */
const seedDomains: Seed = async ({ t, org }) => {
  const id = await domainClient(t, org).added('mail.acme.example')
  return { '/domains': [`/domains?open=${id}`, `/domains?tab=settings&open=${id}`] }
}

export default seedDomains

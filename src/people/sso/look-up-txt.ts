import { Resolver } from 'node:dns/promises'
import { assertNotInTransaction } from '../../platform/db/pool.ts'

/** The TXT records of a name. Empty if there are none, or the look-up fails. */
export type LookUpTxt = (name: string) => Promise<string[]>

const deadlineMs = 10_000

/** `servers` are those of DNS_SERVERS. Undefined uses the resolvers of the machine. */
export const makeLookUpTxt =
  ({ servers }: { servers: readonly string[] | undefined }): LookUpTxt =>
  async (name) => {
    assertNotInTransaction('a DNS look-up')
    const resolver = new Resolver({ timeout: 2_000, tries: 2 })
    if (servers) resolver.setServers(servers)
    const deadline = setTimeout(() => resolver.cancel(), deadlineMs)
    try {
      return (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))
    } catch {
      return []
    } finally {
      clearTimeout(deadline)
    }
  }

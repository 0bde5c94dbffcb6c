/** Registers sending domains as identities of Amazon SES, which sign with the domain's own DKIM key. */
import { createPrivateKey } from 'node:crypto'
import type { SESv2 } from '@aws-sdk/client-sesv2'
import { assertNotInTransaction } from '../../platform/db/pool.ts'
import { type AwsConnection, makeSesClients } from '../aws-clients.ts'
import type { SdkError } from '../aws-faults.ts'
import { expecting } from '../expected-errors.ts'
import {
  type DomainIdentities,
  IdentityFault,
  type IdentityRef,
  type IdentityState,
  type NewIdentity,
} from './domain-identities.ts'
import { makeSemaphore } from './semaphore.ts'
import { LostRequestFault } from './ses-http.ts'

/** Calls can be repeated, so the SDK repeats those that were throttled or lost. */
const maxAttempts = 3
/** SES allows about one such call per second. */
const concurrency = 2
const waitMs = 30_000

const kindOf = (error: SdkError): IdentityFault['kind'] => {
  const status = error.$metadata?.httpStatusCode
  if (error instanceof LostRequestFault) return 'unavailable'
  // Without a status no request was sent: there are no credentials.
  if (status === undefined || status === 401 || status === 403) return 'forbidden'
  if (status < 300) return 'empty'
  const throttled =
    status === 429 || /^(TooManyRequests|Throttling|LimitExceeded|ConcurrentModification)/.test(error.name)
  return status >= 500 || throttled ? 'unavailable' : 'refused'
}

/** Only SES's own words about the domain are passed on. Other messages name the account or its credentials. */
const messageFor: Partial<Record<IdentityFault['kind'], string>> = {
  unavailable: 'Amazon SES could not be reached or is overloaded. Retry later.',
  forbidden: 'Amazon SES did not accept the credentials of this service.',
  empty: 'Amazon SES returned an unusable response. Retry later.',
}

const asIdentityFault = (error: unknown): IdentityFault => {
  if (error instanceof IdentityFault) return error
  const kind = kindOf(error as SdkError)
  return new IdentityFault(kind, messageFor[kind] ?? (error as Error).message, { cause: error })
}

const isNotFound = (error: unknown): boolean => (error as Error | undefined)?.name === 'NotFoundException'
const isPresent = (error: unknown): boolean => (error as Error | undefined)?.name === 'AlreadyExistsException'

/** SES takes the key as one line of Base64. PKCS #1 is the form that it has always accepted. */
const signingAttributes = ({ selector, privateKey }: Pick<NewIdentity, 'selector' | 'privateKey'>) => ({
  DomainSigningSelector: selector,
  DomainSigningPrivateKey: createPrivateKey(privateKey).export({ type: 'pkcs1', format: 'der' }).toString('base64'),
})

type Needs = AwsConnection & {
  /** The default configuration set of new identities. */
  configurationSet: string | undefined
}

export const makeSesIdentities = (needs: Needs): DomainIdentities => {
  const { configurationSet } = needs
  const clients = makeSesClients(needs, maxAttempts)
  const turns = makeSemaphore(concurrency, waitMs)

  const call = async <T>(region: string, work: (client: SESv2) => Promise<T>): Promise<T> => {
    assertNotInTransaction('a call to Amazon SES')
    if (!(await turns.acquire())) throw new IdentityFault('unavailable', messageFor.unavailable as string)
    try {
      return await work(await clients.clientFor(region))
    } catch (error) {
      throw asIdentityFault(error)
    } finally {
      turns.release()
    }
  }

  const remove = ({ name, region }: IdentityRef): Promise<void> =>
    call(region, async (client) => {
      await expecting(isNotFound, client.deleteEmailIdentity({ EmailIdentity: name }))
    })

  const createIdentity = (identity: NewIdentity): Promise<'created' | 'exists'> =>
    call(identity.region, async (client) => {
      const created = client.createEmailIdentity({
        EmailIdentity: identity.name,
        DkimSigningAttributes: signingAttributes(identity),
        ...(configurationSet !== undefined && { ConfigurationSetName: configurationSet }),
      })
      return (await expecting(isPresent, created)) ? 'created' : 'exists'
    })

  /** Bounces come back as notifications, so SES must not send them by mail to the return path as well. */
  const configure = ({ name, region, returnHost }: NewIdentity): Promise<void> =>
    call(region, async (client) => {
      await client.putEmailIdentityMailFromAttributes({
        EmailIdentity: name,
        MailFromDomain: returnHost,
        BehaviorOnMxFailure: 'USE_DEFAULT_VALUE',
      })
      await client.putEmailIdentityFeedbackAttributes({ EmailIdentity: name, EmailForwardingEnabled: false })
    })

  return {
    create: async (identity) => {
      const outcome = await createIdentity(identity)
      if (outcome === 'exists') return outcome
      try {
        await configure(identity)
      } catch (error) {
        // The first error counts. An identity that cannot be removed either is adopted when the domain is added again.
        await remove(identity).catch(() => undefined)
        throw error
      }
      return outcome
    },

    read: ({ name, region }) =>
      call(region, async (client) => {
        const found = await expecting(isNotFound, client.getEmailIdentity({ EmailIdentity: name }))
        if (!found) return undefined
        const { Status, Tokens = [] } = found.DkimAttributes ?? {}
        if (!Status) throw new IdentityFault('empty', messageFor.empty as string)
        return { dkim: Status as IdentityState['dkim'], selectors: Tokens }
      }),

    setKey: (identity) =>
      call(identity.region, async (client) => {
        await client.putEmailIdentityDkimSigningAttributes({
          EmailIdentity: identity.name,
          SigningAttributesOrigin: 'EXTERNAL',
          SigningAttributes: signingAttributes(identity),
        })
      }),

    remove,
    close: clients.close,
  }
}

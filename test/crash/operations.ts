/** What clients of the crash run ask for: every way to send, each with recipients of its own. */

export type Way = 'email' | 'unkeyed email' | 'scheduled email' | 'email batch' | 'sms' | 'sms batch' | 'code' | 'blast'

export type Operation = {
  way: Way
  path: string
  body: unknown
  key: string | undefined
  recipients: string[]
}

export type Audience = { id: string; recipients: string[] }

const letter = { from: 'hello@example.test', subject: 'A subject', text: 'Hi' }
const itemsInBatch = 5

/** How many of a hundred operations are of each kind. */
const shares: Record<Way, number> = {
  email: 30,
  'unkeyed email': 5,
  'scheduled email': 13,
  'email batch': 18,
  sms: 14,
  'sms batch': 8,
  code: 10,
  blast: 2,
}
const wheel = Object.entries(shares).flatMap(([way, share]) => Array<Way>(share).fill(way as Way))

/** Codes are limited to 1,000 in an hour. */
const maxCodes = 900

export const makeOperations = (audiences: Audience[]) => {
  let count = 0
  let codes = 0
  const address = () => `reader${++count}@reader.test`
  const number = () => `+1512${String(2_000_000 + ++count)}`
  const several = (one: () => string) => Array.from({ length: itemsInBatch }, one)
  const email = (way: Way, more: object = {}): Omit<Operation, 'key'> => {
    const to = address()
    return { way, path: '/api/v1/emails', body: { ...letter, to: [to], ...more }, recipients: [to] }
  }

  const makers: Record<Way, () => Omit<Operation, 'key'>> = {
    email: () => email('email'),
    'unkeyed email': () => email('unkeyed email'),
    'scheduled email': () =>
      email('scheduled email', { scheduled_at: new Date(Date.now() + 1_200 + Math.random() * 2_000).toISOString() }),
    'email batch': () => {
      const recipients = several(address)
      const body = count % 2 === 0 ? { ...letter, to: recipients } : recipients.map((to) => ({ ...letter, to: [to] }))
      return { way: 'email batch', path: '/api/v1/emails/batch', body, recipients }
    },
    sms: () => {
      const to = number()
      return { way: 'sms', path: '/api/v1/sms', body: { from: 'TIDINGS', to, body: 'Hi' }, recipients: [to] }
    },
    'sms batch': () => {
      const recipients = several(number)
      const body = { from: 'TIDINGS', to: recipients, body: 'Hi' }
      return { way: 'sms batch', path: '/api/v1/sms/batch', body, recipients }
    },
    code: () => {
      if (++codes > maxCodes) return email('email')
      const bySms = codes % 2 === 0
      const to = bySms ? number() : address()
      const body = bySms
        ? { channel: 'sms', to, from: 'TIDINGS' }
        : { channel: 'email', to, from: 'login@example.test' }
      return { way: 'code', path: '/api/v1/verifications', body, recipients: [to] }
    },
    blast: () => {
      const audience = audiences.pop()
      if (!audience) return email('email')
      const body = { channel: 'email', from: 'news@example.test', template: 'crash-news' }
      return { way: 'blast', path: `/api/v1/audiences/${audience.id}/send`, body, recipients: audience.recipients }
    },
  }

  return (): Operation => {
    const way = wheel[Math.floor(Math.random() * wheel.length)] as Way
    const made = makers[way]()
    return { ...made, key: made.way === 'unkeyed email' ? undefined : `crash-${++count}` }
  }
}

/** Recognises opt-outs and requests for help in text messages. */

export const inboundKinds = ['reply', 'opt_out', 'help'] as const
export type InboundKind = (typeof inboundKinds)[number]

export type Meaning = { kind: InboundKind; keyword: string | null }

/** These count only as the whole message, because they also begin ordinary sentences. */
const wholeMessage = new Map<string, InboundKind>([
  ...['STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'].map((word): [string, InboundKind] => [word, 'opt_out']),
  ...['HELP', 'INFO'].map((word): [string, InboundKind] => [word, 'help']),
])

const lettersOf = (text: string): string => text.replace(/\P{L}/gu, '').toUpperCase()

const wordsOf = (text: string): string[] =>
  text
    .split(/\s+/)
    .map(lettersOf)
    .filter((word) => word !== '')

/**
 * Case and everything that is not a letter are ignored. STOP counts as the first word, or as the first run of letters,
 * whatever follows it.
 */
export const meaningOf = (body: string): Meaning => {
  const text = body.normalize('NFKC')
  const words = wordsOf(text)
  const [first = ''] = words
  const firstRun = /\p{L}+/u.exec(text)?.[0].toUpperCase()
  if (first === 'STOP' || firstRun === 'STOP') return { kind: 'opt_out', keyword: 'STOP' }
  const kind = words.length === 1 ? wholeMessage.get(first) : undefined
  return kind ? { kind, keyword: first } : { kind: 'reply', keyword: null }
}

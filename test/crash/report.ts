/** The report of a crash run in Markdown. */
import type { CrashResult } from './rounds.ts'

const tableOf = (header: string[], rows: (string | number)[][]): string =>
  [
    `| ${header.join(' | ')} |`,
    `|${header.map((_, i) => (i === 0 ? '---' : '---:')).join('|')}|`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')

const countsOf = (counts: Record<string, number>): (string | number)[][] =>
  Object.entries(counts).sort(([a], [b]) => a.localeCompare(b))

const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((total, n) => total + n, 0)

type Plan = { rounds: number; clients: number }

export const writeReport = (result: CrashResult, { rounds, clients }: Plan, command: string): string => {
  const { acknowledged, handedOverAgain, faults, kills, responses } = result
  const operations = Object.values(acknowledged).reduce((total, counted) => total + counted.operations, 0)
  const lost = faults.filter((fault) => fault.startsWith('lost:')).length
  const twice = faults.filter((fault) => /messages under one key/.test(fault)).length
  const again = Object.keys(acknowledged).map((way) => handedOverAgain[way] ?? 0)
  return `# Crash report

\`${command}\`, ${new Date().toISOString().slice(0, 10)}: ${faults.length === 0 ? 'passed' : `failed with ${faults.length} faults`} in ${result.tookSeconds} seconds.

Two API processes, two workers and PostgreSQL, of which ${rounds} times some were killed with \`kill -9\` while ${clients} clients sent. Each
client repeated its request under the same \`Idempotency-Key\`, to either API process, until it got a result. A mail relay, a text
message provider and a webhook receiver on the same machine counted what arrived.

- ${operations} requests acknowledged, ${lost} lost
- ${result.messages} messages stored, ${result.handedOver} handovers, ${twice} recipients with two messages under one key
- ${sum(handedOverAgain)} messages and codes handed over again, each under the same id and marked in its history. Their process died
  after the provider had taken them and before they were recorded.
- ${result.auditedMessages} messages covered by audit entries, and the chain is ${result.chain}
- ${result.used.email} emails and ${result.used.sms} text messages counted as used
- ${result.eventsDeliveredAgain} events delivered more than once, none missing
- ${sum(result.failedItems)} items of batches refused while the database was away (${
    countsOf(result.failedItems)
      .map(([code, n]) => `${n} ${code}`)
      .join(', ') || 'none'
  }), none of which had left when it was called safe to try again
- ${result.longestWaitSeconds} seconds: the longest time that a client needed to get its result
${
  faults.length === 0
    ? ''
    : `\n## Faults\n\n${faults
        .slice(0, 100)
        .map((fault) => `- ${fault}`)
        .join('\n')}\n`
}
## Requests

${tableOf(
  ['way', 'acknowledged', 'of these after repeats', 'handed over again'],
  Object.entries(acknowledged).map(([way, counted], i) => [way, counted.operations, counted.repeated, again[i] ?? 0]),
)}

## Kills

${tableOf(['killed at the same moment', 'times'], countsOf(kills))}

## Responses

${tableOf(['response', 'requests'], countsOf(responses))}
`
}

/** Examples in the API description. */
import { z } from 'zod'
import { type IdKind, prefixes } from '../../../platform/ground/ids.ts'
import type { Example } from './document.ts'

const nouns: Partial<Record<IdKind, string>> = { key: 'API key', ipPool: 'IP pool', inboundSms: 'inbound message' }

/** `webhookEndpoint` is a webhook endpoint. */
export const nounOf = (kind: IdKind): string =>
  nouns[kind] ?? kind.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

export const exampleId = (kind: IdKind): string => `${prefixes[kind]}_01k5w3v8q6e9rbx2t7m4n0c1yz`

/** The examples in the metadata of the schema, or of the schema that it makes optional. */
export const examplesOf = (schema: z.ZodType): unknown[] => {
  const own = z.globalRegistry.get(schema)?.examples
  if (own) return own as unknown[]
  return schema instanceof z.ZodOptional ? examplesOf(schema.unwrap() as z.ZodType) : []
}

/** The examples of a request or response body. Their names are numbers, because the schema has none for them. */
export const shownExamples = (schema: z.ZodType): { examples?: Record<string, Example> } => {
  const values = examplesOf(schema)
  if (values.length === 0) return {}
  const rows = values.map((value, i) => [`example${i + 1}`, { summary: `Example ${i + 1}`, value }] as const)
  return { examples: Object.fromEntries(rows) }
}

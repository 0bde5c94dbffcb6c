/** Types for the parts of an OpenAPI 3.1 document that the API description uses. */
import type { Code } from '../../../platform/ground/errors.ts'
import type { Method } from '../route.ts'
import type { JsonSchema } from './shapes.ts'

export type Reference = { $ref: string }
export type HeaderObject = { description: string; schema: JsonSchema }
export type Example = { summary: string; value: unknown }
type Media = { schema: JsonSchema | Reference; examples?: Record<string, Reference | Example> }
/** A response that is a file has only the media type of the file. */
type MediaTypes = { 'application/json': Media; [contentType: string]: Media }

export type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
  example?: string | number
}

export type ResponseObject = {
  description: string
  headers?: Record<string, Reference>
  content?: MediaTypes
  'x-error-codes'?: Code[]
}

export type Operation = {
  operationId: string
  tags?: string[]
  summary: string
  description?: string
  'x-required-scope'?: string | string[]
  security: Record<string, string[]>[]
  parameters?: (Parameter | Reference)[]
  requestBody?: { required: boolean; content: MediaTypes }
  responses: Record<string, ResponseObject | Reference>
}

export type OpenApiDocument = {
  openapi: '3.1.0'
  info: {
    title: string
    version: string
    summary: string
    description: string
    license: { name: string; identifier: string }
  }
  servers: { url: string; description: string }[]
  tags: { name: string; description?: string }[]
  paths: Record<string, Partial<Record<Lowercase<Method>, Operation>>>
  webhooks: Record<string, { post: Operation }>
  components: {
    securitySchemes: Record<string, Record<string, string>>
    parameters: Record<string, Parameter>
    headers: Record<string, HeaderObject>
    responses: Record<string, ResponseObject>
    examples: Record<string, Example>
    schemas: Record<string, JsonSchema>
  }
}

export const referTo = (part: keyof OpenApiDocument['components'], name: string): Reference => ({
  $ref: `#/components/${part}/${name}`,
})

export const referToAll = (part: 'headers' | 'examples', names: string[]): Record<string, Reference> =>
  Object.fromEntries(names.map((name) => [name, referTo(part, name)]))

/** The description of the API that the service publishes, as far as pages show it. */
import { useQuery } from '@tanstack/react-query'
import { askJson } from '../../api/send.ts'
import { curl } from '../../ui/curl.ts'

type Schema = { description?: string; properties?: Record<string, Schema>; default?: unknown; enum?: unknown[] }
type Media = { schema: Schema; examples?: Record<string, { value: unknown }> }
type Content = Record<string, Media>

type Parameter = {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Schema
  example?: string | number
}

type OperationObject = {
  operationId: string
  tags?: string[]
  summary: string
  description?: string
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}

type ApiDescription = {
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, OperationObject>>
  webhooks: Record<string, { post: OperationObject }>
}

const address = '/api/openapi.json'

const readDescription = (): Promise<ApiDescription> => askJson(address)

/** It changes only with the version of the service. */
export const useApiDescription = () =>
  useQuery({ queryKey: ['api-description'], queryFn: readDescription, staleTime: Number.POSITIVE_INFINITY })

const json = 'application/json'
const firstExample = (content: Content | undefined): unknown => Object.values(content?.[json]?.examples ?? {})[0]?.value

export type Operation = {
  id: string
  group: string
  method: string
  path: string
  summary: string
  description: string
  parameters: Parameter[]
  curl: string
  response: unknown
}

const basePath = '/api/v1'

const curlOf = (method: string, path: string, parameters: readonly Parameter[], body: unknown): string => {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) =>
    String(parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.example ?? whole),
  )
  return curl(method, filled.slice(basePath.length), body)
}

const operationOf = (path: string, method: string, described: OperationObject): Operation => {
  const parameters = (described.parameters ?? []).filter((parameter) => 'name' in parameter)
  const success = Object.entries(described.responses).find(([status]) => status.startsWith('2'))?.[1]
  const verb = method.toUpperCase()
  return {
    id: described.operationId,
    group: described.tags?.[0] ?? '',
    method: verb,
    path,
    summary: described.summary,
    description: described.description ?? '',
    parameters,
    curl: curlOf(verb, path, parameters, firstExample(described.requestBody?.content)),
    response: firstExample(success?.content),
  }
}

export type OperationGroup = { name: string; about: string; operations: Operation[] }

/** In the order of the reference. */
export const operationGroups = ({ tags, paths }: ApiDescription): OperationGroup[] => {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(path, method, described)),
  )
  return tags.map(({ name, description = '' }) => ({
    name,
    about: description,
    operations: operations.filter(({ group }) => group === name),
  }))
}

export type EventSample = { payload: unknown; fields: { name: string; about: string }[] }

/** Undefined for an event that the service does not describe. */
export const sampleOf = ({ webhooks }: ApiDescription, event: string): EventSample | undefined => {
  const content = webhooks[event]?.post.requestBody?.content
  const fields = content?.[json]?.schema.properties?.data?.properties ?? {}
  return (
    content && {
      payload: firstExample(content),
      fields: Object.entries(fields).map(([name, { description = '' }]) => ({ name, about: description })),
    }
  )
}

/** Every word that is typed occurs somewhere in the text. */
export const hasWords = (text: string, typed: string): boolean => {
  const lower = text.toLowerCase()
  return typed
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

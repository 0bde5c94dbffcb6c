import type { Values } from './env-variables.ts'

/** Where spans are exported. */
export type TracingConfig = {
  /** Without a slash at the end. */
  endpoint: string
  headers: Record<string, string>
  serviceName: string
  /** The share of traces that begin here and are recorded. */
  ratio: number
}

/** `name=value` pairs with percent-encoded values, separated by commas. */
const readOtlpHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split(',')
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '')
      .map((pair) => {
        const at = pair.indexOf('=')
        return [pair.slice(0, at).trim().toLowerCase(), decodeURIComponent(pair.slice(at + 1).trim())]
      }),
  )

/** Undefined unless an endpoint is configured. */
export const tracingOf = (values: Values): TracingConfig | undefined => {
  const endpoint = values.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return undefined
  return {
    endpoint: endpoint.replace(/\/+$/, ''),
    headers: readOtlpHeaders(values.OTEL_EXPORTER_OTLP_HEADERS ?? ''),
    serviceName: values.OTEL_SERVICE_NAME,
    ratio: values.OTEL_TRACES_SAMPLER_ARG,
  }
}

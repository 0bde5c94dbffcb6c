/** Large libraries that most processes never use cost memory and start-up time, so they are loaded at their first use. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const build = new URL('./build.ts', import.meta.url).href
const serve = new URL('../command/serve.ts', import.meta.url).href
const openTracer = new URL('../../platform/traces/open-tracer.ts', import.meta.url).href

/** Those of the watched packages that a new process loads while it runs the code. */
const loadedBy = async (code: string): Promise<string[]> => {
  const program = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({
      load: (url, context, next) => {
        const [, name] = url.match(/node_modules\\/((@[\\w-]+\\/)?[\\w-]+)/) ?? []
        if (/^(@opentelemetry|@?redis|@aws-sdk|@node-saml|@scalar|@modelcontextprotocol|stripe)/.test(name)) loaded.add(name)
        return next(url, context)
      },
    })
    ${code}
    console.log(JSON.stringify([...loaded].sort()))
    process.exit()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return JSON.parse(stdout)
}

test('the modules of the service load no SDK of OpenTelemetry, AWS, Stripe or the tool protocol, and nothing for Redis or SAML', async () => {
  // prom-client loads the interface, which contains no SDK.
  expect(await loadedBy(`await import('${build}'); await import('${serve}')`)).toEqual(['@opentelemetry/api'])
}, 60_000)

test('a service with a collector loads the packages that export', async () => {
  const config = "{ endpoint: 'http://127.0.0.1:9', headers: {}, serviceName: 'tidings', ratio: 1 }"
  const code = `const { openTracer } = await import('${openTracer}')
    await openTracer({ config: ${config}, log: { warn() {} } })`
  expect(await loadedBy(code)).toEqual(
    expect.arrayContaining([
      '@opentelemetry/api',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
    ]),
  )
}, 60_000)

/** Lints the container image, compose.yaml, the Kubernetes manifests and the systemd units, and runs their commands. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { allVariables, type VariableName } from '../../src/platform/ground/config/env-variables.ts'
import { makeTestDatabase, type TestDatabase } from '../service/database.ts'
import { copiesOf, readStages, repository, textsOf, variablesOf, wordsOf } from './dockerfile.ts'

const root = fileURLToPath(repository)
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const commands = ['start', 'api', 'worker', 'migrate']
const catalogue = new Map(allVariables)
const isVariable = (name: string): boolean => catalogue.has(name.replace(/_FILE$/, '') as VariableName)

const [build, image] = readStages() as [ReturnType<typeof readStages>[0], ReturnType<typeof readStages>[0]]
const ports = variablesOf(image)

describe('Dockerfile', () => {
  test('the final image runs as an ordinary user, has a health check and gets only files of the build', () => {
    expect(image.from).toBe(build.from)
    expect(image.from).toMatch(/^node:24[\w.-]*-slim$/)
    expect(textsOf(image, 'USER')).toEqual(['1000:1000'])
    expect(textsOf(image, 'RUN')).toEqual([])
    expect(copiesOf(image).every(({ fromBuild }) => fromBuild)).toBe(true)
    expect(copiesOf(image).flatMap(({ sources }) => sources)).not.toContain('src')
    expect(textsOf(build, 'RUN').join('\n')).toMatch(/rm -rf .*node_modules\/esbuild node_modules\/@esbuild/)
  })

  test('every path that it copies exists, and none of them is ignored', () => {
    const ignored = read('.dockerignore').split('\n')
    const copied = copiesOf(build).flatMap(({ sources }) => sources)
    expect(copied.filter((path) => !existsSync(join(root, path)) || ignored.includes(path))).toEqual([])
    const made = ['dist', 'node_modules', 'data']
    const taken = copiesOf(image).flatMap(({ sources }) => sources)
    expect(taken.filter((path) => !copied.includes(path) && !made.includes(path))).toEqual([])
  })

  test('its variables, ports and commands are those of the service', () => {
    expect(Object.keys(ports).filter((name) => !isVariable(name))).toEqual([])
    expect(textsOf(image, 'EXPOSE')).toEqual([`${ports.PORT} ${ports.WORKER_PORT}`])
    expect(wordsOf(image, 'ENTRYPOINT')).toEqual(['node', 'bin/tidings.js'])
    expect(commands).toContain(wordsOf(image, 'CMD')[0])
    expect(wordsOf(image, 'HEALTHCHECK')).toEqual(['node', 'bin/health-check.js', ports.PORT])
    expect(existsSync(join(root, 'bin/health-check.js'))).toBe(true)
    expect(textsOf(build, 'RUN').filter((text) => /^npm run (\S+)$/.test(text))).toEqual(['npm run build'])
  })
})

type Service = {
  image: string
  build?: string
  command?: string[]
  environment?: Record<string, string>
  read_only?: boolean
  cap_drop?: string[]
  ports?: string[]
  healthcheck?: { test: string[] }
  depends_on?: Record<string, { condition: string }>
}

describe('compose.yaml', () => {
  const compose: { services: Record<string, Service>; volumes: object } = parse(read('compose.yaml'), { merge: true })
  const own = Object.entries(compose.services).filter(([, { build: from }]) => from === '.')

  test('the parts of the service have known commands and variables and a read-only root', () => {
    expect(own.map(([name, { command }]) => [name, ...(command ?? [])])).toEqual([
      ['migrate', 'migrate'],
      ['api', 'api'],
      ['worker', 'worker'],
    ])
    for (const [, { environment = {}, read_only, cap_drop }] of own) {
      expect(Object.keys(environment).filter((name) => !isVariable(name))).toEqual([])
      expect({ read_only, cap_drop }).toEqual({ read_only: true, cap_drop: ['ALL'] })
    }
  })

  test('ports are published on this machine only, and health checks use the ports of the image', () => {
    const { api, worker } = compose.services
    expect(api?.ports).toEqual([`127.0.0.1:${ports.PORT}:${ports.PORT}`])
    expect(worker?.healthcheck?.test).toEqual(['CMD', 'node', 'bin/health-check.js', ports.WORKER_PORT])
  })

  test('every service that another waits for exists and has what it waits for, and images have versions', () => {
    for (const { depends_on = {}, image: name } of Object.values(compose.services)) {
      expect(name).toMatch(/:(?!latest$).+$/)
      for (const [on, { condition }] of Object.entries(depends_on)) {
        const awaited = compose.services[on]
        expect(awaited).toBeDefined()
        if (condition === 'service_healthy') expect(awaited?.healthcheck ?? awaited?.build).toBeDefined()
      }
    }
  })
})

// biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds, which the tests assert by value
type Manifest = any

describe('Kubernetes', () => {
  const folder = 'deploy/kubernetes'
  const { resources } = parse(read(`${folder}/kustomization.yaml`))
  const manifests: Manifest[] = [...resources, 'secret.example.yaml'].flatMap((name: string) =>
    parseAllDocuments(read(`${folder}/${name}`)).map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS()
    }),
  )
  const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind)
  const pods = [...ofKind('Deployment'), ...ofKind('Job')].map(({ metadata, spec }) => ({
    name: metadata.name,
    spec: spec.template.spec,
    labels: spec.template.metadata.labels,
  }))

  test('there is an API, a worker and a migration job, each with its budget and its autoscaler', () => {
    expect(pods.map(({ name }) => name).sort()).toEqual(['tidings-api', 'tidings-migrate', 'tidings-worker'])
    const deployments = ofKind('Deployment').map(({ metadata }) => metadata.name)
    expect(ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef.name)).toEqual(deployments)
    expect(ofKind('PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels)).toEqual(
      ofKind('Deployment').map(({ spec }) => spec.template.metadata.labels),
    )
    for (const { spec } of ofKind('Deployment')) {
      expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels)
    }
  })

  test('every container has a known command, an ordinary user and a read-only root', () => {
    for (const { spec } of pods) {
      const [container] = spec.containers
      expect(commands).toContain(container.args[0])
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.resources.limits.memory).toBeDefined()
      expect(container.volumeMounts.map(({ mountPath }: Manifest) => mountPath)).toContain(ports.DATA_DIR)
      const volumes = spec.volumes.map(({ name }: Manifest) => name)
      expect(container.volumeMounts.map(({ name }: Manifest) => name)).toEqual(volumes)
    }
  })

  test('variables are those of the service, secrets are in the secret, and what production requires is there', () => {
    const [config] = ofKind('ConfigMap')
    const [secret] = ofKind('Secret')
    const names = [...Object.keys(config.data), ...Object.keys(secret.stringData)]
    expect(names.filter((name) => !isVariable(name))).toEqual([])
    const secrets = [...catalogue].filter(([, { secret: hidden }]) => hidden).map(([name]): string => name)
    expect(Object.keys(config.data).filter((name) => secrets.includes(name))).toEqual([])
    for (const name of ['SERVICE_DOMAIN', 'BASE_URL', 'EMAIL_PROVIDER', 'MASTER_KEY']) expect(names).toContain(name)
  })

  test('probes and the service use the port of their part', () => {
    const portOf: Record<string, string | undefined> = {
      'tidings-api': ports.PORT,
      'tidings-worker': ports.WORKER_PORT,
    }
    for (const { metadata, spec } of ofKind('Deployment')) {
      const [container] = spec.template.spec.containers
      expect(container.ports).toEqual([{ name: 'http', containerPort: Number(portOf[metadata.name]) }])
      expect(container.startupProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
      expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'http' })
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' })
    }
    expect(ofKind('Service')[0].spec.ports[0].targetPort).toBe('http')
  })

  test('a pod may take as long to stop as the service needs', () => {
    const drain = Number(ofKind('ConfigMap')[0].data.DRAIN_DELAY_SECONDS)
    for (const { spec } of ofKind('Deployment')) {
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(drain + 60)
    }
  })

  test('the worker is scaled by a metric that the adapter makes', () => {
    const scaled = ofKind('HorizontalPodAutoscaler').find(({ metadata }) => metadata.name === 'tidings-worker')
    const [rule] = parse(read(`${folder}/prometheus-adapter.yaml`)).rules.external
    expect(scaled.spec.metrics[0].external.metric.name).toBe(rule.name.as)
    expect(rule.metricsQuery).toContain(`${rule.seriesQuery}{`)
  })
})

describe('systemd', () => {
  const units = readdirSync(join(root, 'deploy/systemd'))
  const linesOf = (unit: string, name: string): string[] =>
    read(`deploy/systemd/${unit}`)
      .split('\n')
      .filter((line) => line.startsWith(`${name}=`))
      .map((line) => line.slice(name.length + 1))

  test.each(units)('%s starts the service as an ordinary user, and sends SIGTERM to it alone', (unit) => {
    const [start] = linesOf(unit, 'ExecStart')
    const words = (start as string).split(' ')
    expect(words.slice(1, -1)).toEqual(['bin/tidings.js'])
    expect(commands).toContain(words.at(-1))
    const variables = linesOf(unit, 'Environment').map((pair) => pair.split('=')[0] as string)
    expect(variables.filter((name) => !isVariable(name))).toEqual([])
    expect(linesOf(unit, 'User')).toEqual(['tidings'])
    expect(linesOf(unit, 'KillMode')).toEqual(['mixed'])
    expect(linesOf(unit, 'Environment')).toContain(`DATA_DIR=/var/lib/${linesOf(unit, 'StateDirectory')[0]}`)
  })

  test('systemd accepts the units', () => {
    if (spawnSync('systemd-analyze', ['--version']).error || !existsSync('/usr/bin/node')) {
      console.warn('systemd-analyze or /usr/bin/node is not installed: the units were not verified')
      return
    }
    const paths = units.map((unit) => join(root, 'deploy/systemd', unit))
    const verified = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' })
    // Other units of the machine are not ours to judge.
    const about = verified.stderr.split('\n').filter((line) => line.includes('tidings'))
    expect(about).toEqual([])
  })
})

describe('the commands of the image, in a folder with only its files', () => {
  let folder: string
  let database: TestDatabase
  const [node = '', ...entry] = wordsOf(image, 'ENTRYPOINT')
  const variables = () => ({
    PATH: process.env.PATH ?? '',
    ...variablesOf(image),
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: '0',
    WORKER_PORT: '0',
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
  })
  const executable = node === 'node' ? process.execPath : node

  beforeAll(async () => {
    database = await makeTestDatabase()
    folder = mkdtempSync(join(tmpdir(), 'tidings-image-'))
    for (const path of ['package.json', 'bin', 'scripts', 'src']) {
      cpSync(join(root, path), join(folder, path), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    // The dashboard takes longer to build. `npm run packages` runs the build whole.
    expect(spawnSync(process.execPath, ['scripts/build.js'], { cwd: folder }).status).toBe(0)
    for (const path of ['src', 'scripts']) rmSync(join(folder, path), { recursive: true })
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await database.drop()
  })

  test('it prints its version and migrates', () => {
    const options = { cwd: folder, env: variables(), encoding: 'utf8' as const }
    expect(spawnSync(executable, [...entry, '--version'], options).stdout).toMatch(/^tidings \d/)
    expect(spawnSync(executable, [...entry, 'migrate'], options).stdout).toBe('The schema is up to date.\n')
  })

  test('it serves, passes its health check, and stops on SIGTERM', async () => {
    const running = spawn(executable, [...entry, 'api'], { cwd: folder, env: variables() })
    let output = ''
    running.stdout.on('data', (chunk) => {
      output += chunk
    })
    const port = () => /http:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]
    await expect.poll(port, { timeout: 60_000 }).toBeDefined()
    const check = (on: string) => spawnSync(executable, ['bin/health-check.js', on], { cwd: folder }).status
    expect(check(port() as string)).toBe(0)
    running.kill('SIGTERM')
    expect((await once(running, 'exit'))[0]).toBe(0)
    expect(check(port() as string)).toBe(1)
  })
})

import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { serviceFlags } from '../../bin/flags.js'
import { lives, oldNode, type Run, run, until } from './launched.ts'

const repository = join(import.meta.dirname, '..', '..')

/** Prints its process details and every signal, and takes a moment to stop, like the service. */
const reporter = `
  const print = (event: object) => process.stdout.write(JSON.stringify(event) + '\\n')
  const [how] = process.argv.slice(2)
  const { TIDINGS_LAUNCHER: launcher } = process.env
  let ending: NodeJS.Timeout | undefined
  const stop = (why: string) => {
    print({ why })
    ending ??= setTimeout(() => process.exit(7), 400)
  }
  process.on('SIGINT', () => stop('SIGINT'))
  process.on('SIGTERM', () => stop('SIGTERM'))
  process.on('disconnect', () => stop('disconnect'))
  if (how === 'several') {
    process.on('SIGHUP', () => print({ why: 'SIGHUP' }))
    process.send?.({ takes: 'SIGHUP' })
  }
  print({ pid: process.pid, major: Number(process.version.slice(1, 3)), args: process.argv.slice(2), launcher })
  if (how === 'end') process.exit(3)
  if (how === 'die') process.kill(process.pid, 'SIGKILL')
  setTimeout(() => process.exit(99), 30_000)`

const failing = `type Unused = { a: string }

export const fails = (): never => {
  throw new Error('broken')
}`

/** Shows errors as the service does. */
const showing = `
  import { fails } from './fails.ts'
  import { showStack } from './platform/ground/shown-stack.ts'
  const shown = (error: Error) => showStack(error.stack ?? '')
  process.on('uncaughtExceptionMonitor', (error) => {
    error.stack = shown(error)
  })
  try {
    fails()
  } catch (error) {
    if (process.argv[2] === 'thrown') throw error
    console.error(shown(error as Error))
    process.exit(1)
  }`

const ways = [
  { name: 'in one process', node: [] },
  { name: 'in two processes', node: oldNode },
]

type Event = { pid?: number; why?: string; major?: number; args?: string[]; launcher?: string }

const made: string[] = []

/** A package like ours, with the reporter instead of the service. */
const makePackage = async (): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), 'tidings-launcher-'))
  made.push(root)
  await cp(join(repository, 'bin'), join(root, 'bin'), { recursive: true })
  await mkdir(join(root, 'scripts'))
  for (const name of ['build.js', 'line-map.js']) {
    await cp(join(repository, 'scripts', name), join(root, 'scripts', name))
  }
  await mkdir(join(root, 'src', 'platform', 'db', 'migrations'), { recursive: true })
  await writeFile(join(root, 'src', 'main.ts'), reporter)
  await writeFile(join(root, 'src', 'platform', 'db', 'migrations', '001.sql'), 'select 1')
  await writeFile(join(root, 'package.json'), '{ "name": "tidings", "type": "module" }')
  await symlink(join(repository, 'node_modules'), join(root, 'node_modules'))
  return root
}

const launch = (root: string, args: string[], { node = [] as string[], env = {} } = {}): Run =>
  run(process.execPath, [...node, join(root, 'bin', 'tidings.js'), ...args], {
    env: { ...process.env, ...env },
  })

const eventsOf = (launched: Run): Event[] =>
  launched
    .output()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

const started = (launched: Run) => until('it has started', () => eventsOf(launched)[0])

const signalsOf = (launched: Run) => eventsOf(launched).flatMap(({ why }) => why ?? [])

const bundleOf = (root: string) => readFile(join(root, 'dist', 'tidings.mjs'), 'utf8').catch(() => '')

const endsWith = async (root: string, code: number) => {
  const launched = launch(root, ['end'])
  expect([await launched.ended(), launched.errors()]).toEqual([code, ''])
}

afterAll(async () => {
  for (const root of made) await rm(root, { recursive: true, force: true })
})

describe.concurrent('The launcher', { timeout: 30_000 }, () => {
  test('builds at the first start, and again only when a source file was edited, added or removed', async () => {
    const root = await makePackage()
    const starts = async () => {
      await endsWith(root, 3)
      return (await bundleOf(root)).split('\n')[0]
    }
    const first = await starts()
    const written = (await stat(join(root, 'dist', 'tidings.mjs'))).mtimeMs
    expect(await starts()).toBe(first)
    expect((await stat(join(root, 'dist', 'tidings.mjs'))).mtimeMs).toBe(written)
    await writeFile(join(root, 'src', 'platform', 'db', 'migrations', '002.sql'), 'select 2')
    await rm(join(root, 'src', 'platform', 'db', 'migrations', '001.sql'))
    const second = await starts()
    expect(await readdir(join(root, 'dist', 'migrations'))).toEqual(['002.sql'])
    await utimes(join(root, 'src', 'main.ts'), new Date(), new Date())
    const third = await starts()
    expect(new Set([first, second, third]).size).toBe(3)
    expect((await readdir(join(root, 'dist'))).sort()).toEqual([
      'compiled',
      'migrations',
      'tidings.mjs',
      'tidings.mjs.map',
    ])
  })

  test.each(ways)('runs the service with its flags, $name', async ({ name, node }) => {
    const launched = launch(await makePackage(), ['worker'], { node })
    const { pid } = (await started(launched)) as { pid: number }
    expect(pid === launched.pid).toBe(name === 'in one process')
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8')
    expect(command.split('\0')).toEqual(expect.arrayContaining(serviceFlags))
    launched.signal('SIGTERM')
    expect(await launched.ended()).toBe(7)
  })

  test('runs the packaged bundle if there are no sources', async () => {
    const root = await makePackage()
    await endsWith(root, 3)
    await rm(join(root, 'src'), { recursive: true })
    await rm(join(root, 'scripts'), { recursive: true })
    await endsWith(root, 3)
  })

  test('builds complete files when several processes start at once', async () => {
    const root = await makePackage()
    await Promise.all([1, 2, 3, 4].map(() => endsWith(root, 3)))
    expect(await bundleOf(root)).toMatch(/^\/\/ built from .*sourceMappingURL=tidings\.mjs\.map\s*$/s)
    expect((await readdir(join(root, 'dist'))).sort()).toEqual([
      'compiled',
      'migrations',
      'tidings.mjs',
      'tidings.mjs.map',
    ])
  })

  test('removes what interrupted builds have left, and nothing that a running build may still need', async () => {
    const root = await makePackage()
    const [abandoned, running] = ['.draft-web-abandoned', '.draft-web-running'].map((name) => join(root, 'dist', name))
    for (const folder of [abandoned, running] as string[]) await mkdir(join(folder, 'assets'), { recursive: true })
    const hourAgo = new Date(Date.now() - 3_600_000)
    await utimes(abandoned as string, hourAgo, hourAgo)
    await endsWith(root, 3)
    expect((await readdir(join(root, 'dist'))).filter((name) => name.startsWith('.draft'))).toEqual([
      '.draft-web-running',
    ])
  })

  test('builds a bundle of ASCII characters that means the same', async () => {
    const root = await makePackage()
    const main = '//! Wärting “quotes”\nconsole.log("é€😀", /^[é€]$/.test("€"), /^😀$/u.test("😀"))'
    await writeFile(join(root, 'src', 'main.ts'), main)
    const launched = launch(root, ['end'])
    expect([await launched.ended(), launched.output()]).toEqual([0, 'é€😀 true true\n'])
    expect(await bundleOf(root)).toMatch(/^\p{ASCII}+$/u)
  })

  test('reports the invalid source file and keeps the previous bundle', async () => {
    const root = await makePackage()
    await endsWith(root, 3)
    const working = await bundleOf(root)
    await writeFile(join(root, 'src', 'main.ts'), 'const = 1')
    const launched = launch(root, ['end'])
    expect(await launched.ended()).toBe(1)
    expect(launched.errors()).toMatch(/Could not build .*main\.ts:1/s)
    expect(launched.errors()).not.toMatch(/^ +at /m)
    expect(await bundleOf(root)).toBe(working)
  })

  test.for(['thrown', 'shown'])('names the line of the source file where an error was created, $0', async (how) => {
    const root = await makePackage()
    await mkdir(join(root, 'src', 'platform', 'ground'), { recursive: true })
    await cp(
      join(repository, 'src', 'platform', 'ground', 'shown-stack.ts'),
      join(root, 'src', 'platform', 'ground', 'shown-stack.ts'),
    )
    await writeFile(join(root, 'src', 'fails.ts'), failing)
    await writeFile(join(root, 'src', 'main.ts'), showing)
    const launched = launch(root, [how])
    expect(await launched.ended()).toBe(1)
    expect(launched.errors()).toContain(`fails (${join(root, 'src', 'fails.ts')}:4)`)
    expect(launched.errors()).not.toMatch(/at .*tidings\.mjs.*fails/)
  })

  test('runs the service in its own process under Node 24', async () => {
    const launched = launch(await makePackage(), ['start', '--flag', 'a b'])
    const { pid, args, launcher } = await started(launched)
    expect({ pid, args, launcher }).toEqual({
      pid: launched.pid,
      args: ['start', '--flag', 'a b'],
      launcher: undefined,
    })
    launched.signal('SIGTERM')
    expect(await launched.ended()).toBe(7)
  })

  test('finds the Node 24 that npm installed when it runs under an older Node', async () => {
    const launched = launch(await makePackage(), ['start', '--flag', 'a b'], { node: oldNode })
    const { pid, args, launcher, major } = await started(launched)
    expect({ args, launcher }).toEqual({ args: ['start', '--flag', 'a b'], launcher: '1' })
    expect(pid).not.toBe(launched.pid)
    expect(major).toBeGreaterThanOrEqual(24)
    launched.signal('SIGTERM')
    expect(await launched.ended()).toBe(7)
    expect(signalsOf(launched)).toEqual(['SIGTERM'])
  })

  test('explains what to do when Node 24 is not available', async () => {
    const root = await makePackage()
    await endsWith(root, 3)
    await rename(join(root, 'src'), join(root, 'gone'))
    await rm(join(root, 'node_modules'))
    const launched = launch(root, ['start'], { node: oldNode })
    expect(await launched.ended()).toBe(1)
    expect(launched.errors()).toMatch(
      /^Tidings needs Node 24, but this is Node 20\.11\.0 and the package .* is not installed\. Run `npm install` without `--omit=optional`, or install Node 24.*\n$/,
    )
  })

  test('exits with the code of the service, or with 128 plus the signal that killed it', async () => {
    const root = await makePackage()
    await endsWith(root, 3)
    const [ended, died] = [launch(root, ['end'], { node: oldNode }), launch(root, ['die'], { node: oldNode })]
    expect([await ended.ended(), await died.ended()]).toEqual([3, 137])
  })

  test('forwards Ctrl-C once, although the terminal sends it to the whole group and npm repeats it', async () => {
    const launched = launch(await makePackage(), ['start'], { node: oldNode })
    await started(launched)
    launched.signalGroup('SIGINT')
    launched.signal('SIGINT')
    await until('it is stopping', () => signalsOf(launched).length > 0)
    launched.signal('SIGINT')
    expect(await launched.ended()).toBe(7)
    expect(signalsOf(launched)).toEqual(['SIGINT'])
  })

  test.for(ways)('stops the service when the terminal is closed, $name', async ({ node }) => {
    const launched = launch(await makePackage(), ['start'], { node })
    await started(launched)
    launched.signalGroup('SIGHUP')
    expect(await launched.ended()).toBe(7)
    expect(signalsOf(launched)).toEqual(['SIGTERM'])
  })

  test.for(ways)('passes every SIGHUP on to a service that takes it, $name', async ({ node }) => {
    const launched = launch(await makePackage(), ['several'], { node })
    await started(launched)
    for (const times of [1, 2]) {
      launched.signal('SIGHUP')
      await until('it has received the signal', () => signalsOf(launched).length === times)
    }
    launched.signal('SIGTERM')
    expect(await launched.ended()).toBe(7)
    expect(signalsOf(launched)).toEqual(['SIGHUP', 'SIGHUP', 'SIGTERM'])
  })

  test('is monitored by the service, which stops when the launcher is killed', async () => {
    const launched = launch(await makePackage(), ['start'], { node: oldNode })
    const { pid = 0 } = await started(launched)
    launched.signalGroup('SIGKILL')
    await until('the service has exited', async () => !(await lives(pid)))
    expect(signalsOf(launched)).toEqual(['disconnect'])
  })

  test.for(ways)('stops the service when the npm process that started it is killed, $name', async ({ node }) => {
    const root = await makePackage()
    await endsWith(root, 3)
    const command = [process.execPath, ...node, 'bin/tidings.js', 'start'].map((part) => `'${part}'`).join(' ')
    // Some shells that npm uses do not replace themselves with the command. The trailing command simulates this.
    const shell = run('sh', ['-c', `${command}; true`], {
      cwd: root,
      env: { ...process.env, npm_lifecycle_script: 'node bin/tidings.js start' },
    })
    const { pid = 0 } = await started(shell)
    shell.signal('SIGKILL')
    await until('the service has exited', async () => !(await lives(pid)))
    expect(signalsOf(shell)).toEqual(['SIGTERM'])
  })

  test('runs any script under Node 24 with its arguments and its exit code', async () => {
    const root = await makePackage()
    const script = join(root, 'script.ts')
    await writeFile(script, 'const n: number = 5; console.log(process.argv.slice(2).join()); process.exit(n)')
    const launched = run(process.execPath, [...oldNode, join(root, 'bin', 'node24.js'), script, 'x', '-y'])
    expect(await launched.ended()).toBe(5)
    expect(launched.output()).toBe('x,-y\n')
  })
})

/**
 * `npm run packages`: runs every command of the Dockerfile, and the start command of every systemd unit, in a clean clone
 * of the last commit. There is no container: the final image is a folder with only the files that it copies, which the
 * process may not write.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isStartOnly, sayStarted } from '../../scripts/start-only.ts'
import { startEmbedded } from '../../src/platform/db/embedded/supervisor.ts'
import { silentLog } from '../../src/platform/ground/log.ts'
import { copiesOf, readStages, repository, type Stage, textsOf, variablesOf, wordsOf } from './dockerfile.ts'

const root = fileURLToPath(repository)
const work = mkdtempSync(join(tmpdir(), 'tidings-packages-'))
const [clone, folder] = [join(work, 'build'), join(work, 'image')]
const [build, image] = readStages() as [Stage, Stage]
/** The image's Node is the first in the path, as in the image. */
const path = `${dirname(process.execPath)}:${process.env.PATH}`
/** Nobody else's files are readable or writable for this user. */
const ordinaryUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const must = (command: string, args: string[], cwd: string): void => {
  const startedAt = performance.now()
  const { status, stderr, stdout } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    // npm needs the registry, the proxy and the certificates of this machine.
    env: { ...process.env, PATH: path },
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed with ${status}\n${stdout}\n${stderr}`)
  say(`  ${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${args.at(-1)}`)
}

/** Runs the instructions of the first stage in the order of the file, with only the files that it copies. */
const runBuild = (): void => {
  const source = join(work, 'clone')
  must('git', ['clone', '--quiet', '--depth', '1', `file://${root}`, source], work)
  mkdirSync(clone)
  const copies = copiesOf(build).values()
  for (const { name, text } of build.instructions) {
    if (name === 'RUN') must('sh', ['-c', text], clone)
    if (name !== 'COPY') continue
    const { sources = [] } = copies.next().value ?? {}
    for (const file of sources) cpSync(join(source, file), join(clone, file), { recursive: true })
  }
}

const assembleImage = (): void => {
  mkdirSync(folder)
  for (const { sources } of copiesOf(image)) {
    for (const file of sources) {
      cpSync(join(clone, file), join(folder, file), { recursive: true, verbatimSymlinks: true })
    }
  }
  must('chmod', ['-R', 'a-w,a+rX', folder], work)
  must('chmod', ['a+rx', work], work)
  must('chmod', ['a+rwx', join(folder, 'data')], work)
  const { stdout } = spawnSync('du', ['-sm', folder], { encoding: 'utf8' })
  say(`  the files of the final image take ${stdout.split('\t')[0]} MB, without Node`)
}

const untilReady = async (child: ChildProcess, port: number): Promise<void> => {
  for (const end = performance.now() + 90_000; performance.now() < end; ) {
    if (child.exitCode !== null) throw new Error(`the process ended with ${child.exitCode}`)
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  throw new Error('the process did not become ready')
}

type Started = { name: string; command: string[]; cwd: string; env: Record<string, string>; port: number }

/** Starts a command, checks its health as the image does, and stops it. */
const serveOnce = async ({ name, command, cwd, env, port }: Started): Promise<void> => {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: { PATH: path, ...env }, ...ordinaryUser, stdio: 'pipe' })
  let errors = ''
  child.stderr?.on('data', (text) => {
    errors = `${errors}${text}`.slice(-4_000)
  })
  child.stdout?.resume()
  try {
    await untilReady(child, port)
    must('node', ['bin/health-check.js', String(port)], folder)
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}\n${errors}`)
  } finally {
    if (child.exitCode === null) child.kill('SIGTERM')
  }
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode]
  if (code !== 0) throw new Error(`${name} stopped with ${code}\n${errors}`)
  say(`  ${name}: ready, healthy, stopped with 0`)
}

/** The same commands as in the units, with the paths of this folder. */
const unitsOf = (): { name: string; words: string[] }[] =>
  readdirSync(join(root, 'deploy/systemd')).map((name) => {
    const text = readFileSync(join(root, 'deploy/systemd', name), 'utf8')
    const [, start = ''] = /^ExecStart=(.*)$/m.exec(text) ?? []
    return { name, words: ['node', ...start.split(' ').slice(1)] }
  })

if (isStartOnly()) {
  const commands = textsOf(build, 'RUN').length
  sayStarted(`${commands} commands of the Dockerfile and ${unitsOf().length} units of systemd`)
  rmSync(work, { recursive: true, force: true })
  process.exit()
}

const database = await startEmbedded({
  dataDir: join(work, 'database'),
  log: silentLog(),
  onLost: () => process.exit(1),
})
try {
  say('Dockerfile, first stage:')
  runBuild()
  say('Dockerfile, final stage:')
  assembleImage()
  const env = {
    ...variablesOf(image),
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: '43170',
    WORKER_PORT: '43171',
    DATA_DIR: join(folder, 'data'),
    DATABASE_URL: database.url,
  }
  const entry = wordsOf(image, 'ENTRYPOINT')
  const migrated = spawnSync(entry[0] as string, [...entry.slice(1), 'migrate'], {
    cwd: folder,
    env: { PATH: path, ...env },
    ...ordinaryUser,
    encoding: 'utf8',
  })
  if (migrated.status !== 0) throw new Error(`migrate failed\n${migrated.stderr}`)
  say(`  migrate: ${migrated.stdout.split(',').length} migrations`)
  for (const part of [...wordsOf(image, 'CMD'), 'api', 'worker']) {
    const port = part === 'worker' ? 43_171 : 43_170
    await serveOnce({ name: part, command: [...entry, part], cwd: folder, env, port })
  }
  say('systemd:')
  for (const { name, words } of unitsOf()) {
    const port = words.at(-1) === 'worker' ? 43_171 : 43_170
    await serveOnce({ name, command: words, cwd: folder, env, port })
  }
  say(`The final stage has no RUN: ${textsOf(image, 'RUN').length === 0}`)
} finally {
  await database.stop()
  rmSync(work, { recursive: true, force: true })
}
process.exit()

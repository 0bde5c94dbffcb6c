/** The `tidings` command line. */
import cluster from 'node:cluster'
import { availableParallelism } from 'node:os'
import { backupCommand, restoreCommand } from './app/command/backup-commands.ts'
import { exitCodeOf, surviveLostOutput } from './app/command/closed-output.ts'
import { anyDatabase, migrateAll } from './app/command/database.ts'
import { ops } from './app/command/ops.ts'
import type { ServedParts } from './app/command/serve.ts'
import { usageFor } from './app/command/usage.ts'
import { type Config, readConfig } from './platform/ground/config/config.ts'
import { type Log, makeLog } from './platform/ground/log.ts'
import { OperatorFault } from './platform/ground/operator-fault.ts'
import { showStack } from './platform/ground/shown-stack.ts'
import { readServiceVersion } from './platform/ground/version.ts'
import { chooseProcesses } from './platform/processes/choose-processes.ts'

/** The commands that serve until they are stopped. */
const services = new Set<string | undefined>(['start', 'api', 'worker'])

/** A child process of `node:cluster` has a name, by which it knows its part. */
const processName = cluster.isWorker ? process.env.TIDINGS_PROCESS : undefined

/** Loads the service here, because the other commands start faster without it. */
const serveParts = async (config: Config, log: Log, parts: ServedParts): Promise<number> => {
  const choice =
    processName === undefined ? chooseProcesses({ ...config, cores: availableParallelism() }, parts) : undefined
  if (choice) log.info({ processes: choice.processes, why: choice.why }, 'processes chosen')
  const { serveAsChild, serveSeveral } = await import('./app/command/serve-several.ts')
  const { serve } = await import('./app/command/serve.ts')
  if (processName !== undefined) return serveAsChild(config, log, parts, processName)
  const { plan, automatic = false } = choice ?? {}
  return plan ? serveSeveral(config, log, parts, { plan, automatic }) : serve(config, log, parts)
}

/** The nearest usage to a command that does not exist. */
const unknown = (args: string[]): OperatorFault => {
  const words = args.filter((arg) => !arg.startsWith('-'))
  const usage = (words[0] === 'ops' && usageFor(['ops'])) || usageFor([])
  return new OperatorFault(`Unknown command: ${words.join(' ')}.\n\n${usage?.text}`)
}

const run = async (command: string | undefined, args: string[]): Promise<number> => {
  if (command === 'version' || command === '--version' || command === '-v') {
    process.stdout.write(`tidings ${readServiceVersion()}\n`)
    return 0
  }
  const given = command === undefined ? [] : [command, ...args]
  const usage = usageFor(given)
  if (!usage) throw unknown(given)
  if (usage.asked) {
    process.stdout.write(`${usage.text}\n`)
    return 0
  }
  const config = readConfig(process.env)
  const quiet = !services.has(command) && config.logLevel === 'info'
  const log = makeLog({ level: quiet ? 'warn' : config.logLevel, format: config.logFormat, process: processName })
  switch (command) {
    case 'start':
      return serveParts(config, log, { api: true, worker: true })
    case 'api':
      return serveParts(config, log, { api: true, worker: false })
    case 'worker':
      return serveParts(config, log, { api: false, worker: true })
    case 'migrate': {
      const database = await anyDatabase(config, log, () => undefined)
      const ran = await migrateAll(database.url, log).finally(() => database.close())
      process.stdout.write(ran.length > 0 ? `Applied ${ran.join(', ')}.\n` : 'The schema is up to date.\n')
      return 0
    }
    case 'backup':
      await backupCommand(config, log, args)
      return 0
    case 'restore':
      await restoreCommand(config, log, args)
      return 0
    case 'ops':
      await ops(config, log, args, (text) => process.stdout.write(text))
      return 0
    default:
      throw unknown(given)
  }
}

const [command, ...args] = process.argv.slice(2)
surviveLostOutput()
// Before Node prints an error that nobody has caught, and exits.
process.on('uncaughtExceptionMonitor', (error) => {
  if (error instanceof Error && error.stack) error.stack = showStack(error.stack)
})
try {
  const code = await run(command, args)
  process.exitCode = services.has(command ?? '') ? code : exitCodeOf(code)
} catch (error) {
  process.stderr.write(
    `${error instanceof OperatorFault ? error.message : showStack(String((error as Error)?.stack))}\n`,
  )
  process.exitCode = 1
}
// Everything has stopped. Exit even if an open handle would keep the process alive.
process.exit()

/** The command line. */
import { backupCommand, restoreCommand } from './command/backup-commands.ts'
import { Fault } from './command/command-fault.ts'
import { anyDatabase, migrateAll } from './command/database.ts'
import { ops, opsUsage } from './command/ops.ts'
import { serve } from './command/serve.ts'
import { EmbeddedFault } from './db/embedded/supervisor.ts'
import { SchemaFault } from './db/migrate.ts'
import { ConfigFault, readConfig } from './ground/config/config.ts'
import { makeLog } from './ground/log.ts'
import { MasterKeyFault } from './operator/master-key.ts'
import { SubmissionFault } from './submission/smtp-server.ts'

const usage = `tidings start                    the whole service in one process
tidings api                      the HTTP part alone
tidings worker                   the background part alone
tidings migrate                  bring the schema up to date and end
tidings backup <file>            write everything to a file
tidings restore <file>           fill an empty database from such a file
${opsUsage}

Settings come from the environment: see docs/configuration.md.`

const run = async (command: string | undefined, args: string[]): Promise<number> => {
  if (command === undefined || command === 'help' || command === '--help' || command === '-h') {
    process.stdout.write(`${usage}\n`)
    return 0
  }
  const config = readConfig(process.env)
  const quiet = command !== 'start' && command !== 'api' && command !== 'worker' && config.logLevel === 'info'
  const log = makeLog({ level: quiet ? 'warn' : config.logLevel, format: config.logFormat })
  switch (command) {
    case 'start':
      return serve(config, log, { api: true, worker: true })
    case 'api':
      return serve(config, log, { api: true, worker: false })
    case 'worker':
      return serve(config, log, { api: false, worker: true })
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
      throw new Fault(`There is no command ${command}.\n\n${usage}`)
  }
}

const isTold = (error: unknown): error is Error =>
  [Fault, ConfigFault, EmbeddedFault, SchemaFault, MasterKeyFault, SubmissionFault].some(
    (kind) => error instanceof kind,
  )

const [command, ...args] = process.argv.slice(2)
try {
  process.exitCode = await run(command, args)
} catch (error) {
  process.stderr.write(`${isTold(error) ? error.message : (error as Error)?.stack}\n`)
  process.exitCode = 1
}
// Nothing is left to wait for; a stray handle must not keep a stopped service alive.
process.exit()

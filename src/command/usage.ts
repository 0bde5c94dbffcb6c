/** What each command of the command line is called and takes. */

/** In the order of the help. A usage can have several lines. */
const commands: readonly { name: string; usage: string }[] = [
  { name: 'start', usage: 'tidings start                    run the whole service' },
  { name: 'api', usage: 'tidings api                      run only the HTTP and SMTP servers' },
  { name: 'worker', usage: 'tidings worker                   run only the background worker' },
  { name: 'version', usage: 'tidings --version                print the version and exit' },
  { name: 'migrate', usage: 'tidings migrate                  update the database schema and exit' },
  {
    name: 'backup',
    usage: `tidings backup <file> [--encrypt-to <age recipient>] [--passphrase-file <file>]
                                 write a backup of all data to a file`,
  },
  {
    name: 'restore',
    usage: `tidings restore <file> [--identity <file>] [--passphrase-file <file>] [--allow-unauthenticated]
                                 restore a backup into an empty database`,
  },
  {
    name: 'ops org create',
    usage: 'tidings ops org create --name <name> [--plan <plan>] [--owner <email>] [--json]',
  },
  { name: 'ops org suspend', usage: 'tidings ops org suspend <org_id> --reason <text> --operator <name>' },
  { name: 'ops org unsuspend', usage: 'tidings ops org unsuspend <org_id> --operator <name>' },
  { name: 'ops org status', usage: 'tidings ops org status <org_id> [--json]' },
  { name: 'ops org list', usage: 'tidings ops org list [--limit <1 to 1000>] [--cursor <cursor>] [--json]' },
  {
    name: 'ops org plan',
    usage: 'tidings ops org plan <org_id> <plan> [--rate <per minute>] [--email <monthly>] [--sms <monthly>] [--json]',
  },
  {
    name: 'ops org sms-geo',
    usage: 'tidings ops org sms-geo <org_id> <US,GB|none|any> --operator <name> [--json]',
  },
  { name: 'ops dns', usage: 'tidings ops dns [--address <public address>] [--json]' },
  {
    name: 'ops dlt set',
    usage: `tidings ops dlt set <org_id> <dlt id> --status submitted|approved|rejected [--template-id <19 digits>]
    [--reason <text>] --operator <name> [--json]`,
  },
  {
    name: 'ops audit verify',
    usage:
      'tidings ops audit verify <org_id>|--all [--witness <file or s3://bucket/prefix>] [--head <head>] [--created-after <time>] [--json]',
  },
  { name: 'ops audit head', usage: 'tidings ops audit head [<org_id>] [--json]' },
  { name: 'ops audit export', usage: 'tidings ops audit export <org_id>' },
  { name: 'ops audit trust', usage: 'tidings ops audit trust <org_id> --operator <name> [--json]' },
  {
    name: 'ops key create',
    usage: 'tidings ops key create <org_id> [--environment live|test] [--name <name>] [--scopes <a,b>] [--json]',
  },
  { name: 'ops key list', usage: 'tidings ops key list <org_id> [--limit <1 to 1000>] [--cursor <cursor>] [--json]' },
  { name: 'ops key revoke', usage: 'tidings ops key revoke <org_id> <key_id> --operator <name> [--json]' },
]

const startsWith = (words: readonly string[], first: readonly string[]): boolean =>
  first.every((word, i) => words[i] === word)

const usageOf = (words: readonly string[]): string | undefined => {
  const command = commands.find(({ name }) => startsWith(words, name.split(' ')))
  if (command) return command.usage
  const group = commands.filter(({ name }) => startsWith(name.split(' '), words))
  return group.length > 0 ? group.map(({ usage }) => usage).join('\n') : undefined
}

export const opsUsage = usageOf(['ops']) as string

const helpOptions = ['--help', '-h']

/** Without options, and without the word `help`, which asks for the usage of what follows it. */
const wordsOf = (args: readonly string[]): string[] => {
  const options = args.findIndex((arg) => arg.startsWith('-'))
  const words = options === -1 ? [...args] : args.slice(0, options)
  if (words[0] === 'help') return words.slice(1)
  return words[0] === 'ops' && words[1] === 'help' ? ['ops', ...words.slice(2)] : words
}

type CommandUsage = {
  /** Whether the arguments ask for help, or name only the beginning of a command. */
  asked: boolean
  text: string
}

/** Undefined if there is no such command. */
export const usageFor = (args: readonly string[]): CommandUsage | undefined => {
  const words = wordsOf(args)
  const text = usageOf(words)
  if (text === undefined) return undefined
  const isComplete = commands.some(({ name }) => startsWith(words, name.split(' ')))
  const isHelp =
    args.some((arg) => helpOptions.includes(arg)) || args[0] === 'help' || args.join(' ').startsWith('ops help')
  const footer = '\n\nConfigure the service with environment variables. See docs/configuration.md.'
  return { asked: isHelp || !isComplete, text: words.length === 0 ? text + footer : text }
}

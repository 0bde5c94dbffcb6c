/** What each command of the command line is called and takes. */

/** In the order of the help. A usage can have several lines. */
const usages = [
  'tidings start                    run the whole service',
  'tidings api                      run only the HTTP and SMTP servers',
  'tidings worker                   run only the background worker',
  'tidings --version                print the version and exit',
  'tidings migrate                  update the database schema and exit',
  `tidings backup <file> [--encrypt-to <age recipient>] [--passphrase-file <file>]
                                 write a backup of all data to a file`,
  `tidings restore <file> [--identity <file>] [--passphrase-file <file>] [--allow-unauthenticated]
                                 restore a backup into an empty database`,
  'tidings ops org create --name <name> [--plan <plan>] [--owner <email>] [--json]',
  'tidings ops org suspend <org_id> --reason <text> --operator <name>',
  'tidings ops org unsuspend <org_id> --operator <name>',
  'tidings ops org status <org_id> [--json]',
  'tidings ops org list [--limit <1 to 1000>] [--cursor <cursor>] [--json]',
  'tidings ops org plan <org_id> <plan> [--rate <per minute>] [--email <monthly>] [--sms <monthly>] [--json]',
  'tidings ops org sms-geo <org_id> <US,GB|none|any> --operator <name> [--json]',
  'tidings ops dns [--address <public address>] [--json]',
  `tidings ops dlt set <org_id> <dlt id> --status submitted|approved|rejected [--template-id <19 digits>]
    [--reason <text>] --operator <name> [--json]`,
  'tidings ops audit verify <org_id>|--all [--witness <file or s3://bucket/prefix>] [--head <head>] [--created-after <time>] [--json]',
  'tidings ops audit head [<org_id>] [--json]',
  'tidings ops audit export <org_id>',
  'tidings ops audit trust <org_id> --operator <name> [--json]',
  'tidings ops key create <org_id> [--environment live|test] [--name <name>] [--scopes <a,b>] [--json]',
  'tidings ops key list <org_id> [--limit <1 to 1000>] [--cursor <cursor>] [--json]',
  'tidings ops key revoke <org_id> <key_id> --operator <name> [--json]',
]

/** The name of a command is what its usage begins with. */
const commands = usages.map((usage) => ({
  name: /^tidings (?:--)?([a-z]+(?: [a-z][a-z-]*)*)/.exec(usage)?.[1] ?? '',
  usage,
}))

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

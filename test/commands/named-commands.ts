/** The commands of package.json, and those that the documentation names in its code. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

export const scripts: Record<string, string> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts

export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync('docs/{*,decisions/*}.md', { cwd: root }),
]

/** A command as a shell would split it, and the page that names it. */
export type NamedCommand = { page: string; words: string[] }

const wordPattern = /(?:[^\s'"]|'[^']*'|"[^"]*")+/g

const wordsOf = (text: string): string[] =>
  (text.match(wordPattern) ?? []).map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))

/** Of a line of a shell: each command without assignments, redirections and the prompt. */
const commandsIn = (line: string): string[][] =>
  line
    .replace(/^\$ /, '')
    .split(/&&|\|\||[|;]/)
    .map((part) => wordsOf(part.replace(/(^|\s)[#>].*$/, '')))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word))))

/** Blocks for a shell have commands only. In other blocks a prompt marks them. */
const linesOfBlock = (language: string, body: string): string[] => {
  const lines = body.replaceAll(/\s*\\\n\s*/g, ' ').split('\n')
  return ['sh', 'bash'].includes(language) ? lines : lines.filter((line) => line.startsWith('$ '))
}

const block = /^ *```(\w*)\n([\s\S]*?)^ *```$/gm
const span = /`([^`]+)`/g

/** Lines of code in the text of a page. */
export const codeIn = (text: string): string[] => {
  const blocks = [...text.matchAll(block)].flatMap(([, language = '', body = '']) => linesOfBlock(language, body))
  const spans = [...text.replaceAll(block, '').matchAll(span)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '))
  return [...blocks, ...spans]
}

export const namedCommands = (): NamedCommand[] =>
  pages.flatMap((page) =>
    codeIn(readFileSync(join(root, page), 'utf8'))
      .flatMap(commandsIn)
      .map((words) => ({ page, words })),
  )

/** The script and its arguments, if the words run one. npm has commands of its own, such as `npm install`. */
export const scriptOf = ([program, command, ...rest]: string[]): { script: string; args: string[] } | undefined => {
  if (program !== 'npm' || command === undefined || !['run', 'start', 'test'].includes(command)) return undefined
  const isQuiet = ['-s', '--silent'].includes(rest[0] ?? '')
  const [script, dashes, ...args] = command === 'run' ? rest.slice(isQuiet ? 1 : 0) : [command, ...rest]
  return script === undefined ? undefined : { script, args: dashes === '--' ? args : [] }
}

/** The words after `tidings`, if the words run the service's own command line. `ops …` is short for it. */
export const tidingsOf = (words: string[]): string[] | undefined => {
  const run = scriptOf(words)
  const isOwn = words[0] === 'tidings' && words.length > 1
  const isPackage = words[0] === 'npx' && words[1] === 'tidings'
  const args = run?.script === 'tidings' ? run.args : isPackage ? words.slice(2) : isOwn ? words.slice(1) : undefined
  if (words[0] === 'ops') return words
  // `tidings x` stands for any command.
  return args?.[0] === 'x' ? undefined : args
}

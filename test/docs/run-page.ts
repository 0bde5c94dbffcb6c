/**
 * Runs the commands of a page as a reader does who copies them into one shell, block after block. `curl` is the real one:
 * a program of the same name in front of it records the status and the body of each response.
 */
import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { Block } from './page-blocks.ts'

const run = promisify(execFile)
const launcher = join(import.meta.dirname, '../../bin/tidings.js')

export type Answer = { status: number; body: string }

export type Ran = {
  /** For each block that ended, the responses to its requests. */
  answers: Answer[][]
  /** Where a command failed, and what the shell printed. */
  fault: string | undefined
}

/** The programs that a page may use besides `curl` and `tidings`. Nothing else is found, so a page can do no harm. */
const tools = ['cat', 'cut', 'date', 'grep', 'head', 'node', 'openssl']

const program = (text: string): string => `#!/bin/sh\nPATH='${process.env.PATH}'\n${text}\n`

/** With as few programs as possible, because it runs for every request of every page. */
const recordingCurl = (curl: string): string =>
  program(`read block < "$BLOCK"
read count < "$CALLS/count"
echo $((count + 1)) > "$CALLS/count"
call=$CALLS/$block-$((count + 1000))
${curl} -sS -D "$call.head" "$@" > "$call.out" || exit
exec cat "$call.out"`)

/** The last status line: an earlier one can be that of a 100 Continue. */
const statusIn = (head: string): number => Number([...head.matchAll(/^HTTP\/\S+ (\d{3})/gm)].at(-1)?.[1])

const answersIn = async (calls: string, block: number): Promise<Answer[]> => {
  const heads = (await readdir(calls)).filter((name) => name.startsWith(`${block}-`) && name.endsWith('.head'))
  return Promise.all(
    heads.toSorted().map(async (name) => ({
      status: statusIn(await readFile(join(calls, name), 'utf8')),
      body: await readFile(join(calls, name.replace(/head$/, 'out')), 'utf8'),
    })),
  )
}

/** Each block begins by noting its number, so that the requests can be told apart. */
const scriptOf = (blocks: readonly Block[]): string =>
  ['set -e', ...blocks.map(({ commands }, i) => `echo ${i} > "$BLOCK"\n${commands}`), 'echo done > "$BLOCK"'].join('\n')

/** The path of each tool and of curl, looked up once for all pages. */
const lookUpPaths = async (): Promise<Map<string, string>> => {
  const names = [...tools.filter((name) => name !== 'node'), 'curl']
  const { stdout } = await run('sh', ['-c', `for name in ${names.join(' ')}; do command -v $name; done`])
  return new Map([
    ['node', process.execPath],
    ...stdout
      .trim()
      .split('\n')
      .map((path) => [basename(path), path] as const),
  ])
}
let paths: Promise<Map<string, string>> | undefined

export const runPage = async (blocks: readonly Block[], env: Record<string, string>): Promise<Ran> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-docs-'))
  const inFolder = (name: string): string => join(folder, name)
  try {
    for (const name of ['bin', 'calls', 'work']) await mkdir(inFolder(name))
    paths ??= lookUpPaths()
    const pathOf = await paths
    for (const tool of tools) await symlink(pathOf.get(tool) as string, inFolder(`bin/${tool}`))
    await writeFile(inFolder('bin/curl'), recordingCurl(pathOf.get('curl') as string))
    await writeFile(inFolder('bin/tidings'), program(`exec "${process.execPath}" "${launcher}" "$@"`))
    for (const name of ['curl', 'tidings']) await chmod(inFolder(`bin/${name}`), 0o755)
    await writeFile(inFolder('calls/count'), '0\n')
    await writeFile(inFolder('page.sh'), scriptOf(blocks))
    const output = await run('/bin/sh', [inFolder('page.sh')], {
      cwd: inFolder('work'),
      env: {
        ...env,
        PATH: inFolder('bin'),
        HOME: folder,
        CALLS: inFolder('calls'),
        BLOCK: inFolder('block'),
      },
    }).then(
      () => undefined,
      (error: { stdout: string; stderr: string }) => `${error.stdout}\n${error.stderr}`.trim(),
    )
    const last = (await readFile(inFolder('block'), 'utf8')).trim()
    const begun = last === 'done' ? blocks.length : Number(last) + 1
    const fault = output === undefined ? undefined : `line ${blocks[begun - 1]?.line}: a command failed. ${output}`
    const answers = await Promise.all(Array.from({ length: begun }, (_, block) => answersIn(inFolder('calls'), block)))
    return { answers, fault }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

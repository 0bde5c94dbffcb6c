/** `npm run check`: types, lint and format, architecture, layout, generated pages. Reports every fault. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import {
  architectureFaults,
  dashboardFaults,
  readAllCode,
  readDashboard,
  readSources,
  spreadFaults,
} from './architecture.ts'
import { stalePages } from './docs.ts'
import { isStartOnly, sayStarted } from './start-only.ts'

const root = dirname(import.meta.dirname)

const programOf = (name: string, bin: string): string => {
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
  return join(dirname(manifest), bin)
}

const passes = (title: string, program: string, args: string[]): boolean => {
  const { status } = spawnSync(process.execPath, [program, ...args], { stdio: 'inherit', cwd: root })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${title}`)
  return status === 0
}

const isClean = (title: string, faults: string[]): boolean => {
  for (const fault of faults) console.log(`     ${fault}`)
  console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${title}`)
  return faults.length === 0
}

const compiler = programOf('typescript', 'bin/tsc')
const linter = programOf('@biomejs/biome', 'bin/biome')

const checkAll = async (): Promise<boolean[]> => [
  passes('types', compiler, ['--noEmit']),
  passes('types of the dashboard', compiler, ['--noEmit', '-p', 'web']),
  passes('lint and format', linter, ['ci', '--error-on-warnings', '.']),
  isClean('architecture', architectureFaults(readSources(join(root, 'src')))),
  isClean('architecture of the dashboard', dashboardFaults(readDashboard(root))),
  isClean(
    'no spreads of literals',
    [...readAllCode(root)].flatMap(([file, text]) => spreadFaults(file, text)),
  ),
  isClean('generated pages', await stalePages()),
]

if (isStartOnly()) sayStarted(`${compiler}, ${linter} and our own checks`)
else process.exitCode = (await checkAll()).every(Boolean) ? 0 : 1

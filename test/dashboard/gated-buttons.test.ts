/** A form of the dashboard that a role may not send is disabled for it, also when a link opens the form. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..', '..', 'web', 'src', 'pages')
/** Forms of people without a role, and about the person alone. */
const ofEverybody = /^(sign-in|account|oauth)\//

const submits = (text: string): string[] =>
  [...text.matchAll(/<Button\b(?:=>|[^>])*?>/g)].map(([tag]) => tag).filter((tag) => tag.includes('type="submit"'))

test('Every button that submits a form of the organisation names the gate of its route', () => {
  const files = globSync('**/*.tsx', { cwd: folder }).filter((file) => !ofEverybody.test(file))
  const found = files.map((file) => [file, submits(readFileSync(join(folder, file), 'utf8'))] as const)
  expect(found.flatMap(([, tags]) => tags).length).toBeGreaterThan(15)
  expect(found.filter(([, tags]) => tags.some((tag) => !tag.includes('gate='))).map(([file]) => file)).toEqual([])
})

/** A form of the dashboard that a role may not send is disabled for it, also when a link opens the form. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..', '..', 'web', 'src')
/** Forms of people without a role, and about the person alone. The components in `ui` pass the gate of their caller on. */
const ofEverybody = /^(pages\/(sign-in|account|oauth)|parts\/sign-in|ui)\//

/** Each has a button that submits it. */
const forms = ['SaveForm', 'FormDialog']

/** The attributes of each element of a file that submits a form. */
const submits = (file: string): string[][] => {
  const found: string[][] = []
  new Visitor({
    JSXOpeningElement: ({ name, attributes }) => {
      const given = attributes.flatMap((attribute) =>
        attribute.type === 'JSXAttribute' && attribute.name.type === 'JSXIdentifier'
          ? [{ name: attribute.name.name, value: attribute.value }]
          : [],
      )
      const isSubmit = ({ name, value }: (typeof given)[number]) =>
        name === 'type' && value?.type === 'Literal' && value.value === 'submit'
      const isForm = name.type === 'JSXIdentifier' && forms.includes(name.name)
      if (isForm || given.some(isSubmit)) found.push(given.map(({ name }) => name))
    },
  }).visit(parseSync(file, readFileSync(join(folder, file), 'utf8')).program)
  return found
}

test('Every button that submits a form of the organisation names the gate of its route', () => {
  const files = globSync('**/*.tsx', { cwd: folder }).filter((file) => !ofEverybody.test(file))
  const found = files.map((file) => [file, submits(file)] as const)
  expect(found.flatMap(([, elements]) => elements).length).toBeGreaterThan(15)
  expect(
    found.filter(([, elements]) => elements.some((names) => !names.includes('gate'))).map(([file]) => file),
  ).toEqual([])
})

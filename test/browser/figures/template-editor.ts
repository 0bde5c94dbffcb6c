/** How long the page is blocked while somebody types in a template of 100 KB, and while its preview follows. */
import type { Page } from 'playwright-core'
import { askWith, signIn } from '../../clients/people.ts'
import { visit } from '../journey.ts'
import type { Stage } from '../stage.ts'
import type { Figure } from './figure.ts'
import { longestTasks, traceDuring } from './main-thread.ts'

const size = 100 * 1_024
const rounds = 3

const row = (n: number): string => `
      <tr>
        <td style="padding: 12px 16px; border-bottom: 1px solid #e5e6e9; font: 14px/20px sans-serif; color: #444">
          <a href="https://example.com/articles/${n}" style="color: #4f46e5; text-decoration: none">Article ${n}</a>
          <p style="margin: 4px 0 0">Hello {{first_name}}, this is what happened in week ${n}, in two sentences.</p>
        </td>
      </tr>`

const makeHtml = (): string => {
  const head = `<!doctype html>
<html>
  <head><style>body { margin: 0; background: #f4f4f7 } .card { max-width: 560px; margin: auto; background: #fff }</style></head>
  <body>
    <table class="card" role="presentation">`
  const end = '\n    </table>\n    <p><a href="{{unsubscribe_url}}">Unsubscribe</a></p>\n  </body>\n</html>\n'
  let rows = ''
  for (let n = 1; head.length + rows.length + end.length < size; n++) rows += row(n)
  return head + rows + end
}

const addTemplate = async ({ t, people }: Stage): Promise<string> => {
  const cookie = await signIn(t, people.owner.userId)
  const body = { slug: 'large-newsletter', channel: 'email', subject: 'News for {{first_name}}', html: makeHtml() }
  const reply = await askWith(t, cookie, 'POST', '/api/internal/templates', { body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body.id
}

/** Types, pauses until the preview is there, and types on. */
const type = async (page: Page): Promise<void> => {
  for (let round = 0; round < rounds; round++) {
    const rendered = page.waitForResponse((response) => response.url().endsWith('/templates/preview') && response.ok())
    await page.keyboard.type(`<p>Typed in round ${round}: {{first_name}}</p>`, { delay: 40 })
    await rendered
    await page.waitForTimeout(800)
  }
}

export const measureEditor = async (stage: Stage): Promise<Figure[]> => {
  const page = await stage.open('owner', {})
  await visit(page, `/templates/${await addTemplate(stage)}`)
  const editor = page.getByRole('textbox', { name: 'HTML of the template' })
  await editor.click()
  await page.frameLocator('iframe').getByText('Article 1', { exact: true }).waitFor()
  await page.waitForTimeout(1_000)
  const tasks = longestTasks(await traceDuring(page, () => type(page)), 5)
  if (process.env.PAGE_TASKS) for (const { ms, parts } of tasks) console.log(ms, parts.join(', '))
  await page.context().close()
  return [
    {
      name: 'Template editor, 100 KB: longest task',
      value: tasks[0]?.ms ?? Number.NaN,
      unit: 'ms',
      below: 50,
      digits: 1,
    },
  ]
}
